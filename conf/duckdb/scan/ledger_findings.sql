-- Made of conf/scan/ledger_findings.sql (ee55690d9842dbd7) by `make docs`; do not edit.
WITH numbered AS (
  SELECT
    topic,
    ledger_id,
    is_complete,
    units,
    unreadable_units,
    COALESCE(unreadable, 'unknown why') AS why,
    CASE
      WHEN is_live
      THEN TRANSLATE(COALESCE(unreadable, 'unknown why'), '0123456789', '')
      ELSE CAST(ledger_id AS TEXT)
    END AS cause,
    ROW_NUMBER() OVER (PARTITION BY topic ORDER BY ledger_id) AS number
  FROM books
), unread AS (
  SELECT
    *,
    number - ROW_NUMBER() OVER (PARTITION BY topic, cause ORDER BY ledger_id) AS island
  FROM numbered
  WHERE
    NOT is_complete
), ranges AS (
  SELECT
    topic,
    cause,
    MIN(ledger_id) AS first,
    MAX(ledger_id) AS last,
    COUNT(*) AS ledgers,
    MIN(why) AS why,
    SUM(units) AS units,
    SUM(unreadable_units) AS unreadable_units,
    ROW_NUMBER() OVER (PARTITION BY cause ORDER BY topic, MIN(ledger_id)) AS nth
  FROM unread
  GROUP BY
    topic,
    cause,
    island
), places AS (
  SELECT
    *,
    SUM(ledgers) OVER (PARTITION BY cause) AS of_cause,
    COALESCE(topic, 'topic unknown') || ': ledger ' || CAST(first AS TEXT) || CASE WHEN last > first THEN ' to ' || CAST(last AS TEXT) ELSE '' END AS place
  FROM ranges
), causes AS (
  SELECT
    CASE WHEN MIN(why) LIKE '%: trimmed: %' THEN 'S48' ELSE 'S02' END AS code,
    CASE WHEN COUNT(DISTINCT topic) = 1 THEN MIN(topic) END AS topic,
    MIN(first) AS first,
    CASE WHEN SUM(ledgers) = 1 THEN MIN(first) END AS ledger_id,
    CAST(SUM(unreadable_units) AS BIGINT) AS count,
    CAST(CAST(SUM(unreadable_units) AS BIGINT) AS TEXT) || ' of ' || CAST(CAST(SUM(units) AS BIGINT) AS TEXT) || ' parts' || CASE
      WHEN SUM(ledgers) > 1
      THEN ' of ' || CAST(CAST(SUM(ledgers) AS BIGINT) AS TEXT) || ' ledgers (' || CAST(MIN(first) AS TEXT) || ' to ' || CAST(MAX(last) AS TEXT) || ')'
      ELSE ''
    END || ' could not be read: ' || MIN(why) AS message,
    LIST_TRANSFORM(LIST_SORT(COALESCE(LIST({'at': nth, 'value': place}) FILTER (WHERE nth <= $max_evidence AND of_cause > 1), []), 'ASC', 'NULLS LAST'), LAMBDA one : one.value) AS evidence
  FROM places
  GROUP BY
    cause
), said AS (
  SELECT
    'E02' AS code,
    topic,
    ledger_id,
    first_rejected_entry_id AS entry_id,
    rejected AS count,
    CAST(rejected AS TEXT) || ' of ' || CAST(frames AS TEXT) || ' entries could not be decoded.' AS message,
    entry_places AS evidence
  FROM books
  WHERE
    rejected > 0
  UNION ALL
  SELECT
    'S12',
    topic,
    ledger_id,
    CAST(NULL AS BIGINT),
    structure_faults,
    CAST(structure_faults AS TEXT) || ' faults in the bytes around entries: headers, blocks, records, sync markers, padding.',
    structure_places
  FROM books
  WHERE
    structure_faults > 0
  UNION ALL
  SELECT
    'S13',
    topic,
    ledger_id,
    CAST(NULL AS BIGINT),
    missing_entries,
    CAST(missing_entries AS TEXT) || ' of ' || CAST(expected_entries AS TEXT) || ' entries that the ledger metadata promises are not in the data object.',
    structure_places
  FROM books
  WHERE
    is_complete AND missing_entries > 0
  UNION ALL
  SELECT
    'S14',
    topic,
    ledger_id,
    CAST(NULL AS BIGINT),
    1,
    'The entries hold ' || CAST(entry_bytes AS TEXT) || ' bytes; the metadata records ' || CAST(expected_bytes AS TEXT) || '.',
    no_places
  FROM books
  WHERE
    is_complete AND missing_entries = 0 AND missing_bytes <> 0
  UNION ALL
  SELECT
    'S40',
    topic,
    ledger_id,
    CAST(NULL AS BIGINT),
    hidden,
    CAST(hidden AS TEXT) || ' entries that the broker confirmed and hides from every consumer.',
    hidden_places
  FROM books
  WHERE
    hidden > 0
)
SELECT
  code,
  'ledger:' || CAST(ledger_id AS TEXT) AS subject,
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
  code,
  'ledger:' || CAST(first AS TEXT),
  topic,
  ledger_id,
  CAST(NULL AS BIGINT),
  count,
  'certain',
  'read from the stored bytes',
  message,
  evidence,
  TRUE
FROM causes
