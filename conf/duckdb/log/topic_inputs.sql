-- Made of conf/log/topic_inputs.sql (58ec653d2a84bee5) by `make docs`; do not edit.
SELECT
  topic,
  ledger_id,
  CONCAT_WS(
    '|',
    'stored',
    copy,
    kind,
    CAST(selected AS TEXT),
    COALESCE(ledger_state, '-'),
    COALESCE(data_etag, '-'),
    COALESCE(CAST(data_bytes AS TEXT), '-'),
    COALESCE(CAST(expected_entries AS TEXT), '-'),
    COALESCE(CAST(expected_bytes AS TEXT), '-'),
    COALESCE(CAST(EPOCH_MS(created_time) AS TEXT), '-'),
    COALESCE(CAST(EPOCH_MS(closed_time) AS TEXT), '-'),
    COALESCE(CAST(offload_complete AS TEXT), '-')
  ) AS words,
  selected AS is_read,
  FALSE AS is_partial,
  CAST(0 AS BIGINT) AS damaged
FROM ledgers
UNION ALL
SELECT
  topic,
  ledger_id,
  CONCAT_WS(
    '|',
    'scanned',
    copy,
    COALESCE(data_etag, '-'),
    CAST(data_bytes AS TEXT),
    CAST(frames AS TEXT),
    CAST(decoded AS TEXT),
    CAST(rejected AS TEXT),
    CAST(entry_bytes AS TEXT),
    CAST(checksum_valid AS TEXT),
    CAST(checksum_mismatch AS TEXT),
    CAST(checksum_absent AS TEXT),
    COALESCE(CAST(expected_entries AS TEXT), '-'),
    CAST(order_faults AS TEXT),
    CAST(structure_faults AS TEXT),
    CAST(unreadable_units AS TEXT)
  ) AS words,
  TRUE AS is_read,
  NOT complete AS is_partial,
  CAST(checksum_mismatch + rejected + checksum_absent AS BIGINT) AS damaged
FROM scans
UNION ALL
SELECT
  topic,
  ledger_id,
  'old' AS words,
  TRUE AS is_read,
  TRUE AS is_partial,
  CAST(0 AS BIGINT) AS damaged
FROM scans
WHERE
  ledger_id IN (
    SELECT
      ledger_id
    FROM noted_entries
    WHERE
      uri IS NULL
  )
  OR ledger_id IN (
    SELECT
      ledger_id
    FROM producer_facts
    WHERE
      last_message IS NULL AND entries > markers
  )
  OR NOT ledger_id IN (
    SELECT
      ledger_id
    FROM ledger_facts
  )
UNION ALL
SELECT
  topic,
  ledger_id,
  CONCAT_WS('|', 'gone', CAST(scanned AS TEXT)) AS words,
  FALSE,
  FALSE,
  CAST(0 AS BIGINT)
FROM gone_ledgers
