-- A line about each subscription, the blocked ones and those with most to be done about first.
SELECT
  topic, subscription, state, stalls, backlog_entries, backlog_bytes, blocked_ledger_id, blocked_entry_id,
  blocked_sureness
FROM standing
ORDER BY
  is_blocked DESC, blocked_rank, coalesce(stalls, 0) DESC, coalesce(backlog_entries, 0) DESC, topic, subscription
LIMIT $listed
