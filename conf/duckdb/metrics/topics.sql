-- Made of conf/metrics/topics.sql (53f33df6ede4ba8b) by `make docs`; do not edit.
WITH counted AS (
  SELECT
    topic,
    COUNT(*) FILTER(WHERE
      state IN ($incomplete)
      OR state = 'malformed'
      OR (
        state IN ($complete) AND NOT rebuildable
      )) AS broken,
    COUNT(*) FILTER(WHERE
      NOT rebuildable
      AND (
        state IN ($complete)
        OR (
          state IN ($incomplete)
          AND NOT ARRAY_CONTAINS(flags, $no_loss)
        )
      )) AS lost,
    COUNT(*) FILTER(WHERE
      rebuildable AND state <> 'whole') AS rebuildable
  FROM chunked_messages
  GROUP BY
    topic
), ranked AS (
  SELECT
    *,
    ROW_NUMBER() OVER (ORDER BY lost DESC, broken DESC, rebuildable DESC, topic) AS place
  FROM counted
)
SELECT
  CASE WHEN place <= $bound THEN topic END AS topic,
  place > $bound AS is_rest,
  CAST(TRUNC(SUM(broken)) AS BIGINT) AS broken,
  CAST(SUM(lost) AS BIGINT) AS lost,
  CAST(SUM(rebuildable) AS BIGINT) AS rebuildable
FROM ranked
GROUP BY
  CASE WHEN place <= $bound THEN topic END,
  place > $bound
ORDER BY
  topic
