-- Made of conf/report/worst.sql (19fe453bafebabdb) by `make docs`; do not edit.
SELECT
  cluster,
  job,
  code,
  name,
  severity,
  subject,
  topic,
  ledger_id,
  entry_id,
  count,
  sureness,
  reason,
  message,
  evidence,
  incomplete
FROM findings
ORDER BY
  CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END,
  count DESC,
  code,
  subject
LIMIT $findings
