-- Made of conf/report/topic_findings.sql (6ad26523668c781d) by `make docs`; do not edit.
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
FROM (
  SELECT
    f.*,
    ROW_NUMBER() OVER (
      PARTITION BY f.topic
      ORDER BY CASE f.severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, f.code, f.subject
    ) AS number
  FROM findings AS f
  SEMI JOIN chosen AS c
    ON f.topic IS NOT DISTINCT FROM c.topic
) AS numbered
WHERE
  number <= $findings
ORDER BY
  topic,
  number
