-- Subscriptions of scalable topics (Pulsar 5), cursors of all segments added up. A sum is null where one of them is not known.
WITH wanted AS (
  SELECT
    s.cluster,
    s.topic,
    s.segment,
    s.segment_id,
    s.status,
    s.entries,
    s.bytes,
    n.subscription,
    n.first_id,
    n.registered,
    array_contains(s.subscriptions, n.subscription) AS has_cursor
  FROM segments AS s
  INNER JOIN (
    SELECT
      cluster,
      topic,
      subscription,
      min(segment_id) AS first_id,
      bool_or(array_contains(registered, subscription)) AS registered
    FROM (
      SELECT cluster, topic, segment_id, registered, explode(subscriptions) AS subscription FROM segments
    ) AS each_cursor
    GROUP BY cluster, topic, subscription
  ) AS n ON s.cluster = n.cluster AND s.topic = n.topic
)

SELECT
  w.topic,
  w.subscription,
  w.registered,
  count(*) FILTER (WHERE w.has_cursor) AS cursors,
  CASE
    WHEN count(*) FILTER (WHERE w.has_cursor AND u.backlog_entries IS NULL) > 0 THEN NULL
    ELSE CAST(sum(CASE WHEN w.has_cursor THEN u.backlog_entries END) AS bigint)
  END AS backlog_entries,
  CASE
    WHEN count(*) FILTER (WHERE w.has_cursor AND u.backlog_messages IS NULL) > 0 THEN NULL
    ELSE CAST(sum(CASE WHEN w.has_cursor THEN u.backlog_messages END) AS bigint)
  END AS backlog_messages,
  CASE
    WHEN count(*) FILTER (WHERE w.has_cursor AND u.backlog_bytes IS NULL) > 0 THEN NULL
    ELSE CAST(sum(CASE WHEN w.has_cursor THEN u.backlog_bytes END) AS bigint)
  END AS backlog_bytes,
  CAST(coalesce(sum(u.unstored_entries), 0) AS bigint) AS unstored_entries,
  CAST(coalesce(sum(u.stalls), 0) AS bigint) AS stalls,
  count(*) FILTER (WHERE NOT w.has_cursor AND w.segment_id > w.first_id AND w.status IN ('active', 'sealed'))
    AS segments_without_cursor,
  CAST(coalesce(
    sum(w.entries) FILTER (WHERE NOT w.has_cursor AND w.segment_id > w.first_id AND w.status IN ('active', 'sealed')),
    0
  ) AS bigint) AS entries_without_cursor,
  CAST(coalesce(
    sum(w.bytes) FILTER (WHERE NOT w.has_cursor AND w.segment_id > w.first_id AND w.status IN ('active', 'sealed')),
    0
  ) AS bigint) AS bytes_without_cursor,
  w.cluster
FROM wanted AS w
LEFT JOIN subscriptions AS u
  ON w.cluster = u.cluster AND w.segment = u.topic AND w.subscription = u.subscription
GROUP BY w.cluster, w.topic, w.subscription, w.registered
ORDER BY w.cluster, w.topic, w.subscription
