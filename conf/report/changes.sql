-- What the last comparison found changed about errors and warnings that nobody has acknowledged, the most urgent first.
SELECT
  p.identity, p.change, p.kind, p.code, p.severity, p.topic, p.subscription, p.subject, p.message, p.count, p.count_before,
  p.reason, unix_millis(p.first_seen) AS first_seen_ms
FROM problems AS p
WHERE
  p.compared_at = (SELECT max(compared_at) FROM problems)
  AND p.change IN ('new', 'back', 'worse', 'healed', 'gone')
  AND p.severity IN ('error', 'warning')
  AND p.acknowledged_by IS NULL
ORDER BY
  CASE p.change WHEN 'new' THEN 0 WHEN 'back' THEN 1 WHEN 'worse' THEN 2 WHEN 'healed' THEN 3 ELSE 4 END,
  CASE p.severity WHEN 'error' THEN 0 ELSE 1 END,
  CASE p.kind WHEN 'finding' THEN 0 WHEN 'quality' THEN 1 WHEN 'stall' THEN 2 ELSE 3 END,
  p.count DESC,
  p.identity
LIMIT $changes
