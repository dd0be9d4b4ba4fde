-- Made of conf/report/totals.sql (e4ca3eccdf40111b) by `make docs`; do not edit.
SELECT
  f.code,
  f.severity,
  f.incomplete,
  COUNT(*) AS findings,
  CAST(SUM(f.count) AS BIGINT) AS count
FROM findings AS f
GROUP BY
  f.code,
  f.severity,
  f.incomplete
ORDER BY
  f.code,
  f.severity,
  f.incomplete
