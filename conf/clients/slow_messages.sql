-- C20: whole messages that took longer than the default expiry.
SELECT
  $code AS code,
  topic AS subject,
  topic,
  min_by(first_ledger_id, (first_ledger_id, first_entry_id)) AS ledger_id,
  min_by(first_entry_id, (first_ledger_id, first_entry_id)) AS entry_id,
  count(*) AS count,
  'certain' AS sureness,
  'read from the broker' || chr(39) || 's timestamps' AS reason,
  replace(replace($message, '{count}', CAST(count(*) AS string)), '{extent}', CAST(max(span_ms) AS string)) AS message,
  array_repeat(
    min_by(concat_ws(':', CAST(first_ledger_id AS string), CAST(first_entry_id AS string)), (first_ledger_id, first_entry_id)), 1
  ) AS evidence,
  FALSE AS incomplete
FROM chunked_messages
WHERE span_ms > $expiry_ms AND state IN ($complete)
GROUP BY topic
