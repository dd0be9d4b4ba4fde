-- What the books of each ledger say: rejected entries, missing entries, damaged blocks, lengths, unread parts.
WITH said AS (
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

  UNION ALL

  SELECT
    'S02', topic, ledger_id, CAST(NULL AS bigint), unreadable_units,
    concat(
      CAST(unreadable_units AS string), ' of ', CAST(units AS string), ' parts could not be read: ',
      coalesce(unreadable, 'unknown why')
    ),
    no_places
  FROM books
  WHERE NOT is_complete
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
  code = 'S02' AS incomplete
FROM said
