-- Findings, errors first, then by how much they concern.
SELECT
  severity,
  code,
  name,
  subject,
  message,
  `count`,
  sureness,
  reason,
  evidence,
  topic,
  ledger_id,
  entry_id,
  job,
  cluster
FROM findings
ORDER BY array_position(array('error', 'warning', 'info'), severity), `count` DESC, cluster, code, subject
