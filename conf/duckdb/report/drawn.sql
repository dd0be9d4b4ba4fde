-- Made of conf/report/drawn.sql (a6c270b672fd5378) by `make docs`; do not edit.
SELECT
  *
FROM (
  SELECT
    s.*,
    ROW_NUMBER() OVER (
      PARTITION BY s.topic
      ORDER BY s.is_blocked DESC, s.blocked_rank, s.stalls DESC, COALESCE(s.backlog_entries, 0) DESC, s.subscription
    ) AS number,
    COUNT(*) OVER of_topic AS total,
    COUNT(CASE WHEN s.is_blocked THEN 1 END) OVER of_topic AS blocked,
    COUNT(CASE WHEN s.blocked_sureness = 'certain' THEN 1 END) OVER of_topic AS blocked_certain,
    COUNT(CASE WHEN s.blocked_sureness = 'likely' THEN 1 END) OVER of_topic AS blocked_likely,
    COUNT(CASE WHEN s.blocked_sureness = 'cannot_tell' THEN 1 END) OVER of_topic AS blocked_cannot_tell
  FROM standing AS s
  SEMI JOIN chosen AS c
    ON s.topic IS NOT DISTINCT FROM c.topic
  WINDOW of_topic AS (PARTITION BY s.topic)
) AS numbered
WHERE
  number <= $subscriptions
ORDER BY
  number,
  is_blocked DESC,
  blocked_rank,
  stalls DESC,
  COALESCE(backlog_entries, 0) DESC,
  subscription,
  topic
LIMIT $strips
