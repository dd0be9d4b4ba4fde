-- Made of conf/report/runs.sql (de218df2f6125a16) by `make docs`; do not edit.
SELECT
  job,
  source,
  seconds,
  versions,
  options,
  EPOCH_MS(started) AS started_ms
FROM runs
ORDER BY
  started
