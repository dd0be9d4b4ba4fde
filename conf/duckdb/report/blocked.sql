-- Made of conf/report/blocked.sql (f1106d8ef4b8fe9b) by `make docs`; do not edit.
SELECT
  topic,
  subscription,
  subscription_type,
  blocked_ledger_id AS ledger_id,
  blocked_entry_id AS entry_id,
  blocked_sureness AS sureness,
  blocked_action AS action,
  backlog_entries,
  backlog_bytes,
  blocked_place
FROM standing
WHERE
  blocked_place <= $blocked
ORDER BY
  blocked_place
