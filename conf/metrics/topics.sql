-- Chunked messages of each topic: those with most that are broken have a place up to the bound, the others are summed.
WITH counted AS (
  SELECT
    topic,
    count(*) FILTER (WHERE state IN ($incomplete) OR state = 'malformed' OR (state IN ($complete) AND NOT rebuildable))
      AS broken,
    count(*) FILTER (
      WHERE
        NOT rebuildable
        AND (state IN ($complete) OR (state IN ($incomplete) AND NOT array_contains(flags, $no_loss)))
    ) AS lost,
    count(*) FILTER (WHERE rebuildable AND state <> 'whole') AS rebuildable
  FROM chunked_messages
  GROUP BY topic
),

ranked AS (
  SELECT *, row_number() OVER (ORDER BY lost DESC, broken DESC, rebuildable DESC, topic) AS place FROM counted
)

SELECT
  CASE WHEN place <= $bound THEN topic END AS topic,
  place > $bound AS is_rest,
  CAST(sum(broken) AS bigint) AS broken,
  CAST(sum(lost) AS bigint) AS lost,
  CAST(sum(rebuildable) AS bigint) AS rebuildable
FROM ranked
GROUP BY CASE WHEN place <= $bound THEN topic END, place > $bound
ORDER BY topic
