-- Made of conf/report/groups.sql (5f3a7ecff743f87f) by `make docs`; do not edit.
SELECT
  state,
  flags,
  rebuildable,
  sureness,
  COUNT(*) AS publications
FROM chunked_messages
GROUP BY
  state,
  flags,
  rebuildable,
  sureness
ORDER BY
  state,
  flags,
  rebuildable,
  sureness
