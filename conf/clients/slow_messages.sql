-- C20: whole messages that took longer than the default expiry.
SELECT
  'C20' AS code,
  topic AS subject,
  topic,
  min_by(first_ledger_id, (first_ledger_id, first_entry_id)) AS ledger_id,
  min_by(first_entry_id, (first_ledger_id, first_entry_id)) AS entry_id,
  count(*) AS count,
  'certain' AS sureness,
  'read from the broker' || chr(39) || 's timestamps' AS reason,
  concat(
    'Chunked messages that took longer than 60 seconds to store: ', CAST(count(*) AS string), ', the longest ',
    CAST(max(span_ms) AS string), ' milliseconds.'
  ) AS message,
  array_repeat(
    min_by(concat_ws(':', CAST(first_ledger_id AS string), CAST(first_entry_id AS string)), (first_ledger_id, first_entry_id)), 1
  ) AS evidence,
  FALSE AS incomplete
FROM chunked_messages
WHERE span_ms > $expiry_ms AND state IN ($complete)
GROUP BY topic
