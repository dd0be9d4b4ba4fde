-- The subscriptions that are drawn, worst first, with all and the blocked ones of their topic counted.
SELECT *
FROM (
  SELECT
    s.*,
    row_number() OVER (
      PARTITION BY s.topic
      ORDER BY s.is_blocked DESC, s.blocked_rank, s.stalls DESC, coalesce(s.backlog_entries, 0) DESC, s.subscription
    ) AS number,
    count(*) OVER of_topic AS total,
    count(CASE WHEN s.is_blocked THEN 1 END) OVER of_topic AS blocked,
    count(CASE WHEN s.blocked_sureness = 'certain' THEN 1 END) OVER of_topic AS blocked_certain,
    count(CASE WHEN s.blocked_sureness = 'likely' THEN 1 END) OVER of_topic AS blocked_likely,
    count(CASE WHEN s.blocked_sureness = 'cannot_tell' THEN 1 END) OVER of_topic AS blocked_cannot_tell
  FROM standing AS s
  SEMI JOIN chosen AS c ON s.topic IS NOT DISTINCT FROM c.topic
  WINDOW of_topic AS (PARTITION BY s.topic)
) AS numbered
WHERE number <= $subscriptions
ORDER BY number, is_blocked DESC, blocked_rank, stalls DESC, coalesce(backlog_entries, 0) DESC, subscription, topic
LIMIT $strips
