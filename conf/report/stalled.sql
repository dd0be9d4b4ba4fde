-- Subscriptions that are stalled or held up, with a backlog that can be forecast, the worst first.
SELECT topic, subscription, subscription_type, consumers, backlog_entries
FROM standing
WHERE
  kind = 'subscription'
  AND topic IS NOT NULL
  AND subscription_type IN ('Exclusive', 'Failover', 'Shared', 'Key_Shared')
  AND backlog_entries BETWEEN 1 AND $entries
  AND (is_blocked OR coalesce(exists(holdups, one -> one.code IS NOT NULL), FALSE))
ORDER BY blocked_place NULLS LAST, backlog_entries DESC, topic, subscription
LIMIT $subscriptions
