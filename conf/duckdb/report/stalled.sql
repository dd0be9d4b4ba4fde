-- Made of conf/report/stalled.sql (45e070f0eb192322) by `make docs`; do not edit.
SELECT
  topic,
  subscription,
  subscription_type,
  consumers,
  backlog_entries
FROM standing AS s
WHERE
  kind = 'subscription'
  AND NOT topic IS NULL
  AND subscription_type IN ('Exclusive', 'Failover', 'Shared', 'Key_Shared')
  AND backlog_entries BETWEEN 1 AND $entries
  AND NOT EXISTS(SELECT
    1
  FROM dangers AS d
  WHERE
    s.topic = d.topic AND s.subscription = d.subscription)
  AND NOT EXISTS(SELECT
    1
  FROM needs AS n
  WHERE
    s.topic = n.topic AND s.subscription = n.subscription AND n.unverifiable)
  AND (
    is_blocked
    OR COALESCE(
      CASE WHEN holdups IS NULL THEN NULL WHEN LIST_CONTAINS(LIST_TRANSFORM(holdups, LAMBDA one : NOT one.code IS NULL), TRUE) THEN TRUE WHEN LEN(LIST_FILTER(LIST_TRANSFORM(holdups, LAMBDA one : NOT one.code IS NULL), LAMBDA _u : _u IS NULL)) > 0 THEN NULL ELSE FALSE END,
      FALSE
    )
  )
ORDER BY
  blocked_place NULLS LAST,
  backlog_entries DESC,
  topic,
  subscription
LIMIT $subscriptions
