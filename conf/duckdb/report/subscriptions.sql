-- Made of conf/report/subscriptions.sql (7034175798df568c) by `make docs`; do not edit.
SELECT
  topic,
  subscription,
  state,
  stalls,
  backlog_entries,
  backlog_bytes,
  blocked_ledger_id,
  blocked_entry_id,
  blocked_sureness
FROM standing
ORDER BY
  is_blocked DESC,
  blocked_rank,
  COALESCE(stalls, 0) DESC,
  COALESCE(backlog_entries, 0) DESC,
  topic,
  subscription
LIMIT $listed
