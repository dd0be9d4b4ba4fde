-- Subscriptions that are stalled or held up, with a backlog that can be forecast, the worst first.
-- A forecast plays chunks and acknowledgements: not what stops a client at bytes or fields, so nobody who has such an entry.
SELECT topic, subscription, subscription_type, consumers, backlog_entries
FROM standing AS s
WHERE
  kind = 'subscription'
  AND topic IS NOT NULL
  AND subscription_type IN ('Exclusive', 'Failover', 'Shared', 'Key_Shared')
  AND backlog_entries BETWEEN 1 AND $entries
  AND NOT EXISTS (SELECT 1 FROM dangers AS d WHERE s.topic = d.topic AND s.subscription = d.subscription)
  AND NOT EXISTS (
    SELECT 1 FROM needs AS n WHERE s.topic = n.topic AND s.subscription = n.subscription AND n.unverifiable
  )
  AND (is_blocked OR coalesce(exists(holdups, one -> one.code IS NOT NULL), FALSE))
ORDER BY blocked_place NULLS LAST, backlog_entries DESC, topic, subscription
LIMIT $subscriptions
