-- Made of conf/report/copies.sql (9d10739affc73b7d) by `make docs`; do not edit.
SELECT
  COUNT(*) AS ledgers,
  COUNT(CASE WHEN status IN ('damaged', 'unreadable') THEN 1 END) AS not_ok,
  COUNT(DISTINCT topic) AS topics
FROM ledgers
