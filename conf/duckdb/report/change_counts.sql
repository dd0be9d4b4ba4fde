-- Made of conf/report/change_counts.sql (1c68d4414d87057d) by `make docs`; do not edit.
SELECT
  p.change,
  p.severity,
  NOT p.acknowledged_by IS NULL AS is_acknowledged,
  COUNT(*) AS problems,
  EPOCH_MS(MAX(p.compared_at)) AS compared_ms
FROM problems AS p
WHERE
  p.compared_at = (
    SELECT
      MAX(compared_at)
    FROM problems
  )
GROUP BY
  p.change,
  p.severity,
  NOT p.acknowledged_by IS NULL
ORDER BY
  p.change,
  p.severity,
  is_acknowledged
