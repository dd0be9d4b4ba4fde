-- The backlog of each subscription as this audit saw it, and whether it can be held against those of other nights.
WITH unread AS (
  SELECT DISTINCT topic FROM findings WHERE incomplete
),

nowhere AS (
  SELECT count(*) AS unread_places FROM unread WHERE topic IS NULL
)

SELECT
  s.topic, s.subscription,
  $run_id AS run_id,
  timestamp_millis($at_ms) AS compared_at,
  k.saved_time,
  s.state = 'whole' AND s.sureness = 'certain' AND s.backlog_entries IS NOT NULL AND k.saved_time IS NOT NULL
    AND u.topic IS NULL AND n.unread_places = 0 AS comparable,
  s.backlog_entries, s.backlog_bytes,
  CASE
    WHEN s.unstored_entries IS NOT NULL THEN s.unstored_entries
    WHEN s.stats_backlog_entries >= s.backlog_entries THEN s.stats_backlog_entries - s.backlog_entries
  END AS unstored_entries,
  CASE
    WHEN s.unstored_entries IS NOT NULL THEN 'ledgers'
    WHEN s.stats_backlog_entries >= s.backlog_entries THEN 'stats'
  END AS counted_by,
  s.oldest_unacked_time, s.oldest_unacked_broker_time, s.mark_delete_ledger_id, s.mark_delete_entry_id
FROM subscriptions AS s
CROSS JOIN nowhere AS n
LEFT JOIN saved_states AS k ON s.topic = k.topic
LEFT JOIN unread AS u ON s.topic = u.topic
WHERE s.kind = 'subscription'
