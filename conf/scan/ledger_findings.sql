-- What the books of each ledger say: rejected entries, missing entries, damaged blocks, lengths, unread parts.
-- Live ledgers that are unread for one reason, whatever its numbers, are one finding with ranges of ledgers.
WITH numbered AS (
  SELECT
    topic, ledger_id, is_complete, units, unreadable_units, coalesce(unreadable, 'unknown why') AS why,
    CASE
      WHEN is_live THEN translate(coalesce(unreadable, 'unknown why'), '0123456789', '')
      ELSE CAST(ledger_id AS string)
    END AS cause,
    row_number() OVER (PARTITION BY topic ORDER BY ledger_id) AS number
  FROM books
),

unread AS (
  SELECT *, number - row_number() OVER (PARTITION BY topic, cause ORDER BY ledger_id) AS island
  FROM numbered
  WHERE NOT is_complete
),

ranges AS (
  SELECT
    topic, cause, min(ledger_id) AS first, max(ledger_id) AS last, count(*) AS ledgers, min(why) AS why,
    sum(units) AS units, sum(unreadable_units) AS unreadable_units,
    row_number() OVER (PARTITION BY cause ORDER BY topic, min(ledger_id)) AS nth
  FROM unread
  GROUP BY topic, cause, island
),

places AS (
  SELECT
    *,
    sum(ledgers) OVER (PARTITION BY cause) AS of_cause,
    concat(
      coalesce(topic, 'topic unknown'), ': ledger ', CAST(first AS string),
      CASE WHEN last > first THEN concat(' to ', CAST(last AS string)) ELSE '' END
    ) AS place
  FROM ranges
),

causes AS (
  SELECT
    CASE WHEN min(why) LIKE '%: trimmed: %' THEN 'S48' ELSE 'S02' END AS code,
    CASE WHEN count(DISTINCT topic) = 1 THEN min(topic) END AS topic,
    min(first) AS first,
    CASE WHEN sum(ledgers) = 1 THEN min(first) END AS ledger_id,
    CAST(sum(unreadable_units) AS bigint) AS count,
    concat(
      CAST(CAST(sum(unreadable_units) AS bigint) AS string), ' of ', CAST(CAST(sum(units) AS bigint) AS string), ' parts',
      CASE
        WHEN sum(ledgers) > 1 THEN
          concat(
            ' of ', CAST(CAST(sum(ledgers) AS bigint) AS string), ' ledgers (', CAST(min(first) AS string), ' to ',
            CAST(max(last) AS string), ')'
          )
        ELSE ''
      END,
      ' could not be read: ', min(why)
    ) AS message,
    -- Of one ledger no row is listed.
    transform(
      array_sort(collect_list(CASE WHEN nth <= $max_evidence AND of_cause > 1 THEN struct(nth AS at, place AS value) END)),
      one -> one.value
    ) AS evidence
  FROM places
  GROUP BY cause
),

said AS (
  SELECT
    'E02' AS code, topic, ledger_id, first_rejected_entry_id AS entry_id, rejected AS count,
    concat(CAST(rejected AS string), ' of ', CAST(frames AS string), ' entries could not be decoded.') AS message,
    entry_places AS evidence
  FROM books
  WHERE rejected > 0

  UNION ALL

  SELECT
    'S12', topic, ledger_id, CAST(NULL AS bigint), structure_faults,
    concat(
      CAST(structure_faults AS string),
      ' faults in the bytes around entries: headers, blocks, records, sync markers, padding.'
    ),
    structure_places
  FROM books
  WHERE structure_faults > 0

  UNION ALL

  SELECT
    'S13', topic, ledger_id, CAST(NULL AS bigint), missing_entries,
    concat(
      CAST(missing_entries AS string), ' of ', CAST(expected_entries AS string),
      ' entries that the ledger metadata promises are not in the data object.'
    ),
    structure_places
  FROM books
  WHERE is_complete AND missing_entries > 0

  UNION ALL

  SELECT
    'S14', topic, ledger_id, CAST(NULL AS bigint), 1,
    concat(
      'The entries hold ', CAST(entry_bytes AS string), ' bytes; the metadata records ', CAST(expected_bytes AS string),
      '.'
    ),
    no_places
  FROM books
  WHERE is_complete AND missing_entries = 0 AND missing_bytes != 0

  UNION ALL

  SELECT
    'S40', topic, ledger_id, CAST(NULL AS bigint), hidden,
    concat(CAST(hidden AS string), ' entries that the broker confirmed and hides from every consumer.'),
    hidden_places
  FROM books
  WHERE hidden > 0
)

SELECT
  code,
  concat('ledger:', CAST(ledger_id AS string)) AS subject,
  topic,
  ledger_id,
  entry_id,
  count,
  'certain' AS sureness,
  'read from the stored bytes' AS reason,
  message,
  evidence,
  FALSE AS incomplete
FROM said

UNION ALL

SELECT
  code, concat('ledger:', CAST(first AS string)), topic, ledger_id, CAST(NULL AS bigint), count, 'certain',
  'read from the stored bytes', message, evidence, TRUE
FROM causes
