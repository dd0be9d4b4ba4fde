-- Scalable topics (Pulsar 5), each as one: its segments and old topics by status, what they hold, what is broken, what waits.
WITH segment_health AS (
  SELECT
    s.cluster,
    s.segment,
    count(*) AS chunked_messages,
    count(*) FILTER (WHERE m.state <> 'whole') AS not_whole
  FROM segments AS s
  INNER JOIN chunked_messages AS m ON s.cluster = m.cluster AND s.segment = m.topic
  GROUP BY s.cluster, s.segment
),

segment_stalls AS (
  SELECT s.cluster, s.segment, CAST(sum(u.stalls) AS bigint) AS stalls
  FROM segments AS s
  INNER JOIN subscriptions AS u ON s.cluster = u.cluster AND s.segment = u.topic
  GROUP BY s.cluster, s.segment
),

segment_findings AS (
  SELECT
    s.cluster,
    s.topic,
    count(*) FILTER (WHERE f.severity = 'error') AS errors,
    count(*) FILTER (WHERE f.severity = 'warning') AS warnings,
    bool_or(f.incomplete) AS incomplete
  FROM (
    SELECT cluster, topic, segment FROM segments
    UNION ALL
    SELECT DISTINCT cluster, topic, topic AS segment FROM segments
  ) AS s
  INNER JOIN findings AS f ON s.cluster = f.cluster AND s.segment = f.topic
  GROUP BY s.cluster, s.topic
)

SELECT
  s.topic,
  count(*) AS segments,
  count(*) FILTER (WHERE s.status = 'active') AS active,
  count(*) FILTER (WHERE s.status = 'sealed') AS sealed,
  count(*) FILTER (WHERE s.status = 'pruned') AS pruned,
  count(*) FILTER (WHERE s.status IN ('unlisted', 'unknown')) AS unknown,
  count(*) FILTER (WHERE s.is_legacy) AS migrated,
  CAST(sum(s.ledgers) AS bigint) AS ledgers,
  CAST(sum(s.entries) AS bigint) AS entries,
  CAST(sum(s.bytes) AS bigint) AS bytes,
  CAST(coalesce(sum(h.chunked_messages), 0) AS bigint) AS chunked_messages,
  CAST(coalesce(sum(h.not_whole), 0) AS bigint) AS not_whole,
  CAST(coalesce(sum(t.stalls), 0) AS bigint) AS stalls,
  coalesce(max(f.errors), 0) AS errors,
  coalesce(max(f.warnings), 0) AS warnings,
  coalesce(bool_or(f.incomplete), FALSE) AS incomplete,
  s.cluster
FROM segments AS s
LEFT JOIN segment_health AS h ON s.cluster = h.cluster AND s.segment = h.segment
LEFT JOIN segment_stalls AS t ON s.cluster = t.cluster AND s.segment = t.segment
LEFT JOIN segment_findings AS f ON s.cluster = f.cluster AND s.topic = f.topic
GROUP BY s.cluster, s.topic
ORDER BY s.cluster, s.topic
