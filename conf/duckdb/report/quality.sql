-- Made of conf/report/quality.sql (ad8c9817e7f72df1) by `make docs`; do not edit.
SELECT
  cluster,
  rule,
  summary,
  severity,
  passed,
  checked,
  failed,
  sentence,
  expectation,
  examples
FROM quality_results
ORDER BY
  passed,
  severity,
  rule
