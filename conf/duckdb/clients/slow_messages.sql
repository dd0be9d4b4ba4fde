-- Made of conf/clients/slow_messages.sql (38ef2c638ba46850) by `make docs`; do not edit.
SELECT
  $code AS code,
  topic AS subject,
  topic,
  ARG_MIN_NULL(first_ledger_id, (first_ledger_id, first_entry_id)) AS ledger_id,
  ARG_MIN_NULL(first_entry_id, (first_ledger_id, first_entry_id)) AS entry_id,
  COUNT(*) AS count,
  'certain' AS sureness,
  'read from the broker' || CHR(39) || 's timestamps' AS reason,
  REPLACE(
    REPLACE($message, '{count}', CAST(COUNT(*) AS TEXT)),
    '{extent}',
    CAST(MAX(span_ms) AS TEXT)
  ) AS message,
  REPEAT([ARG_MIN_NULL(CONCAT_WS(':', CAST(first_ledger_id AS TEXT), CAST(first_entry_id AS TEXT)), (first_ledger_id, first_entry_id))], 1) AS evidence,
  FALSE AS incomplete
FROM chunked_messages
WHERE
  span_ms > $expiry_ms AND state IN ($complete)
GROUP BY
  topic
