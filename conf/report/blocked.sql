-- The blocked subscriptions of all topics, the surest and then the largest first.
SELECT
  topic,
  subscription,
  subscription_type,
  blocked_ledger_id AS ledger_id,
  blocked_entry_id AS entry_id,
  blocked_sureness AS sureness,
  blocked_advice AS advice,
  blocked_action AS action,
  backlog_entries,
  backlog_bytes
FROM standing
WHERE is_blocked
ORDER BY blocked_rank, coalesce(backlog_entries, 0) DESC, topic, subscription
LIMIT $blocked
