-- Made of conf/sql/worst_findings.sql (c7311e9f9478bb54) by `make docs`; do not edit.
SELECT
  f.severity,
  f.code,
  f.name,
  f.subject,
  f.message,
  f.count,
  f.sureness,
  f.reason,
  f.evidence,
  f.topic,
  f.ledger_id,
  f.entry_id,
  f.job,
  f.cluster
FROM findings AS f
ORDER BY
  CASE f.severity WHEN 'error' THEN 1 WHEN 'warning' THEN 2 WHEN 'info' THEN 3 ELSE 0 END,
  f.count DESC,
  f.cluster,
  f.code,
  f.subject
