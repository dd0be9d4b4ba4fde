-- Made of conf/clients/slow_messages.sql (c46dc11abee8a0df) by `make docs`; do not edit.
SELECT
  'C20' AS code,
  topic AS subject,
  topic,
  ARG_MIN_NULL(first_ledger_id, (first_ledger_id, first_entry_id)) AS ledger_id,
  ARG_MIN_NULL(first_entry_id, (first_ledger_id, first_entry_id)) AS entry_id,
  COUNT(*) AS count,
  'certain' AS sureness,
  'read from the broker' || CHR(39) || 's timestamps' AS reason,
  'Chunked messages that took longer than 60 seconds to store: ' || CAST(COUNT(*) AS TEXT) || ', the longest ' || CAST(MAX(span_ms) AS TEXT) || ' milliseconds.' AS message,
  REPEAT([ARG_MIN_NULL(CONCAT_WS(':', CAST(first_ledger_id AS TEXT), CAST(first_entry_id AS TEXT)), (first_ledger_id, first_entry_id))], 1) AS evidence,
  FALSE AS incomplete
FROM chunked_messages
WHERE
  span_ms > $expiry_ms AND state IN ($complete)
GROUP BY
  topic
