-- Made of conf/report/changes.sql (09661e12effe2fb3) by `make docs`; do not edit.
SELECT
  p.identity,
  p.change,
  p.kind,
  p.code,
  p.severity,
  p.topic,
  p.subscription,
  p.subject,
  p.message,
  p.count,
  p.count_before,
  p.reason,
  EPOCH_MS(p.first_seen) AS first_seen_ms
FROM problems AS p
WHERE
  p.compared_at = (
    SELECT
      MAX(compared_at)
    FROM problems
  )
  AND p.change IN ('new', 'back', 'worse', 'healed', 'gone')
  AND p.severity IN ('error', 'warning')
  AND p.acknowledged_by IS NULL
ORDER BY
  CASE p.change
    WHEN 'new'
    THEN 0
    WHEN 'back'
    THEN 1
    WHEN 'worse'
    THEN 2
    WHEN 'healed'
    THEN 3
    ELSE 4
  END,
  CASE p.severity WHEN 'error' THEN 0 ELSE 1 END,
  CASE p.kind WHEN 'finding' THEN 0 WHEN 'quality' THEN 1 WHEN 'stall' THEN 2 ELSE 3 END,
  p.count DESC,
  p.identity
LIMIT $changes
