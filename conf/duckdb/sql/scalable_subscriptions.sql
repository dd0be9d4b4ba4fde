-- Made of conf/sql/scalable_subscriptions.sql (de5d736ee3877f05) by `make docs`; do not edit.
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
    ARRAY_CONTAINS(s.subscriptions, n.subscription) AS has_cursor
  FROM segments AS s
  INNER JOIN (
    SELECT
      cluster,
      topic,
      subscription,
      MIN(segment_id) AS first_id,
      BOOL_OR(CAST(ARRAY_CONTAINS(registered, subscription) AS BOOLEAN)) AS registered
    FROM (
      SELECT
        cluster,
        topic,
        segment_id,
        registered,
        UNNEST(subscriptions) AS subscription
      FROM segments
    ) AS each_cursor
    GROUP BY
      cluster,
      topic,
      subscription
  ) AS n
    ON s.cluster = n.cluster AND s.topic = n.topic
)
SELECT
  w.topic,
  w.subscription,
  w.registered,
  COUNT(*) FILTER(WHERE
    w.has_cursor) AS cursors,
  CASE
    WHEN COUNT(*) FILTER(WHERE
      w.has_cursor AND u.backlog_entries IS NULL) > 0
    THEN NULL
    ELSE CAST(TRUNC(SUM(CASE WHEN w.has_cursor THEN u.backlog_entries END)) AS BIGINT)
  END AS backlog_entries,
  CASE
    WHEN COUNT(*) FILTER(WHERE
      w.has_cursor AND u.backlog_messages IS NULL) > 0
    THEN NULL
    ELSE CAST(TRUNC(SUM(CASE WHEN w.has_cursor THEN u.backlog_messages END)) AS BIGINT)
  END AS backlog_messages,
  CASE
    WHEN COUNT(*) FILTER(WHERE
      w.has_cursor AND u.backlog_bytes IS NULL) > 0
    THEN NULL
    ELSE CAST(TRUNC(SUM(CASE WHEN w.has_cursor THEN u.backlog_bytes END)) AS BIGINT)
  END AS backlog_bytes,
  CAST(COALESCE(SUM(u.unstored_entries), 0) AS BIGINT) AS unstored_entries,
  CAST(COALESCE(SUM(u.stalls), 0) AS BIGINT) AS stalls,
  COUNT(*) FILTER(WHERE
    NOT w.has_cursor
    AND w.segment_id > w.first_id
    AND w.status IN ('active', 'sealed')) AS segments_without_cursor,
  CAST(TRUNC(COALESCE(
    SUM(w.entries) FILTER(WHERE
      NOT w.has_cursor
      AND w.segment_id > w.first_id
      AND w.status IN ('active', 'sealed')),
    0
  )) AS BIGINT) AS entries_without_cursor,
  CAST(TRUNC(COALESCE(
    SUM(w.bytes) FILTER(WHERE
      NOT w.has_cursor
      AND w.segment_id > w.first_id
      AND w.status IN ('active', 'sealed')),
    0
  )) AS BIGINT) AS bytes_without_cursor,
  w.cluster
FROM wanted AS w
LEFT JOIN subscriptions AS u
  ON w.cluster = u.cluster AND w.segment = u.topic AND w.subscription = u.subscription
GROUP BY
  w.cluster,
  w.topic,
  w.subscription,
  w.registered
ORDER BY
  w.cluster,
  w.topic,
  w.subscription
