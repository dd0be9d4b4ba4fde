-- Made of conf/sql/scalable_topics.sql (7499efdb21049921) by `make docs`; do not edit.
WITH segment_health AS (
  SELECT
    s.cluster,
    s.segment,
    COUNT(*) AS chunked_messages,
    COUNT(*) FILTER(WHERE
      m.state <> 'whole') AS not_whole
  FROM segments AS s
  INNER JOIN chunked_messages AS m
    ON s.cluster = m.cluster AND s.segment = m.topic
  GROUP BY
    s.cluster,
    s.segment
), segment_stalls AS (
  SELECT
    s.cluster,
    s.segment,
    CAST(SUM(u.stalls) AS BIGINT) AS stalls
  FROM segments AS s
  INNER JOIN subscriptions AS u
    ON s.cluster = u.cluster AND s.segment = u.topic
  GROUP BY
    s.cluster,
    s.segment
), segment_findings AS (
  SELECT
    s.cluster,
    s.topic,
    COUNT(*) FILTER(WHERE
      f.severity = 'error') AS errors,
    COUNT(*) FILTER(WHERE
      f.severity = 'warning') AS warnings,
    BOOL_OR(CAST(f.incomplete AS BOOLEAN)) AS incomplete
  FROM (
    SELECT
      cluster,
      topic,
      segment
    FROM segments
    UNION ALL
    SELECT DISTINCT
      cluster,
      topic,
      topic AS segment
    FROM segments
  ) AS s
  INNER JOIN findings AS f
    ON s.cluster = f.cluster AND s.segment = f.topic
  GROUP BY
    s.cluster,
    s.topic
)
SELECT
  s.topic,
  COUNT(*) AS segments,
  COUNT(*) FILTER(WHERE
    s.status = 'active') AS active,
  COUNT(*) FILTER(WHERE
    s.status = 'sealed') AS sealed,
  COUNT(*) FILTER(WHERE
    s.status = 'pruned') AS pruned,
  COUNT(*) FILTER(WHERE
    s.status IN ('unlisted', 'unknown')) AS unknown,
  COUNT(*) FILTER(WHERE
    s.is_legacy) AS migrated,
  CAST(SUM(s.ledgers) AS BIGINT) AS ledgers,
  CAST(SUM(s.entries) AS BIGINT) AS entries,
  CAST(SUM(s.bytes) AS BIGINT) AS bytes,
  CAST(COALESCE(SUM(h.chunked_messages), 0) AS BIGINT) AS chunked_messages,
  CAST(TRUNC(COALESCE(SUM(h.not_whole), 0)) AS BIGINT) AS not_whole,
  CAST(COALESCE(SUM(t.stalls), 0) AS BIGINT) AS stalls,
  COALESCE(MAX(f.errors), 0) AS errors,
  COALESCE(MAX(f.warnings), 0) AS warnings,
  COALESCE(BOOL_OR(CAST(f.incomplete AS BOOLEAN)), FALSE) AS incomplete,
  s.cluster
FROM segments AS s
LEFT JOIN segment_health AS h
  ON s.cluster = h.cluster AND s.segment = h.segment
LEFT JOIN segment_stalls AS t
  ON s.cluster = t.cluster AND s.segment = t.segment
LEFT JOIN segment_findings AS f
  ON s.cluster = f.cluster AND s.topic = f.topic
GROUP BY
  s.cluster,
  s.topic
ORDER BY
  s.cluster,
  s.topic
