-- Made of conf/sql/since_last_night.sql (203c02035739306f) by `make docs`; do not edit.
WITH last AS (
  SELECT
    cluster,
    MAX(compared_at) AS compared_at
  FROM problems
  GROUP BY
    cluster
)
SELECT
  p.change,
  p.severity,
  p.kind,
  p.code,
  p.topic,
  p.subscription,
  p.subject,
  p.message,
  p.count,
  p.count_before,
  p.reason,
  p.first_seen,
  p.last_seen,
  p.healed_at,
  p.acknowledged_by,
  p.acknowledged_until,
  p.identity,
  p.run_id,
  p.cluster,
  p.gone_at
FROM problems AS p
INNER JOIN last AS l
  ON p.cluster = l.cluster AND p.compared_at = l.compared_at
WHERE
  p.change <> 'still'
ORDER BY
  p.cluster,
  CASE p.change
    WHEN 'new'
    THEN 0
    WHEN 'back'
    THEN 1
    WHEN 'worse'
    THEN 2
    WHEN 'healed'
    THEN 3
    WHEN 'gone'
    THEN 4
    ELSE 5
  END,
  CASE p.severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END,
  p.count DESC,
  p.identity
