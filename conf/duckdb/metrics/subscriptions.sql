-- Made of conf/metrics/subscriptions.sql (95224b8f6411ed84) by `make docs`; do not edit.
WITH stalled AS (
  SELECT DISTINCT
    topic,
    subscription
  FROM stalls
  WHERE
    blocks_dispatch
), ranked AS (
  SELECT
    s.topic,
    s.subscription,
    NOT b.topic IS NULL AS is_stalled,
    s.backlog_entries,
    s.backlog_bytes,
    EPOCH_MS(s.oldest_unacked_time) AS oldest_ms,
    EPOCH_MS(s.oldest_unacked_broker_time) AS oldest_broker_ms,
    ROW_NUMBER() OVER (
      ORDER BY CASE WHEN b.topic IS NULL THEN 1 ELSE 0 END, COALESCE(s.backlog_entries, 0) DESC, s.topic, s.subscription
    ) AS place
  FROM subscriptions AS s
  LEFT JOIN stalled AS b
    ON s.topic = b.topic AND s.subscription = b.subscription
  WHERE
    s.kind = 'subscription'
)
SELECT
  CASE WHEN place <= $bound THEN topic END AS topic,
  CASE WHEN place <= $bound THEN subscription END AS subscription,
  COUNT(*) AS subscriptions,
  COUNT(*) FILTER(WHERE
    is_stalled) AS stalled,
  CAST(SUM(backlog_entries) AS BIGINT) AS backlog_entries,
  CAST(SUM(backlog_bytes) AS BIGINT) AS backlog_bytes,
  MIN(oldest_ms) AS oldest_ms,
  MIN(oldest_broker_ms) AS oldest_broker_ms
FROM ranked
GROUP BY
  CASE WHEN place <= $bound THEN topic END,
  CASE WHEN place <= $bound THEN subscription END
ORDER BY
  topic,
  subscription
