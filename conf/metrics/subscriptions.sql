-- Numbers of each subscription: the stalled and then the largest have a place up to the bound, the others are summed.
WITH stalled AS (
  SELECT DISTINCT topic, subscription FROM stalls WHERE blocks_dispatch
),

ranked AS (
  SELECT
    s.topic, s.subscription, b.topic IS NOT NULL AS is_stalled, s.backlog_entries, s.backlog_bytes,
    unix_millis(s.oldest_unacked_time) AS oldest_ms,
    unix_millis(s.oldest_unacked_broker_time) AS oldest_broker_ms,
    row_number() OVER (
      ORDER BY
        CASE WHEN b.topic IS NULL THEN 1 ELSE 0 END, coalesce(s.backlog_entries, 0) DESC, s.topic, s.subscription
    ) AS place
  FROM subscriptions AS s
  LEFT JOIN stalled AS b ON s.topic = b.topic AND s.subscription = b.subscription
  WHERE s.kind = 'subscription'
)

SELECT
  CASE WHEN place <= $bound THEN topic END AS topic,
  CASE WHEN place <= $bound THEN subscription END AS subscription,
  count(*) AS subscriptions,
  count(*) FILTER (WHERE is_stalled) AS stalled,
  CAST(sum(backlog_entries) AS bigint) AS backlog_entries,
  CAST(sum(backlog_bytes) AS bigint) AS backlog_bytes,
  min(oldest_ms) AS oldest_ms,
  min(oldest_broker_ms) AS oldest_broker_ms
FROM ranked
GROUP BY CASE WHEN place <= $bound THEN topic END, CASE WHEN place <= $bound THEN subscription END
ORDER BY topic, subscription
