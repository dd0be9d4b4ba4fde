-- Made of conf/report/topic_totals.sql (bde6b421f91433d7) by `make docs`; do not edit.
SELECT
  f.topic,
  f.code,
  f.severity,
  f.incomplete,
  COUNT(*) AS findings,
  CAST(SUM(f.count) AS BIGINT) AS count
FROM findings AS f
SEMI JOIN chosen AS c
  ON f.topic IS NOT DISTINCT FROM c.topic
GROUP BY
  f.topic,
  f.code,
  f.severity,
  f.incomplete
ORDER BY
  f.topic,
  f.code,
  f.severity,
  f.incomplete
