-- Findings counted by code, severity and completeness.
SELECT
  f.code, f.severity, f.incomplete, count(*) AS findings, CAST(sum(f.count) AS bigint) AS count
FROM findings AS f
GROUP BY f.code, f.severity, f.incomplete
ORDER BY f.code, f.severity, f.incomplete
