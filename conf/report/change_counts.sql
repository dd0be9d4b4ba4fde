-- What the last comparison with the audit before said, counted.
SELECT
  p.change,
  p.severity,
  p.acknowledged_by IS NOT NULL AS is_acknowledged,
  count(*) AS problems,
  unix_millis(max(p.compared_at)) AS compared_ms
FROM problems AS p
WHERE p.compared_at = (SELECT max(compared_at) FROM problems)
GROUP BY p.change, p.severity, p.acknowledged_by IS NOT NULL
ORDER BY p.change, p.severity, is_acknowledged
