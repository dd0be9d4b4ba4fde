-- Findings of each topic counted by code, severity and completeness.
SELECT
  f.topic, f.code, f.severity, f.incomplete, count(*) AS findings, CAST(sum(f.count) AS bigint) AS count
FROM findings AS f
SEMI JOIN chosen AS c ON f.topic IS NOT DISTINCT FROM c.topic
GROUP BY f.topic, f.code, f.severity, f.incomplete
ORDER BY f.topic, f.code, f.severity, f.incomplete
