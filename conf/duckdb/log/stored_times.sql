-- Made of conf/log/stored_times.sql (f1e6144cbb4e8a41) by `make docs`; do not edit.
SELECT
  ledger_id,
  oldest_stored_ms,
  newest_stored_ms,
  odd
FROM ledger_facts
WHERE
  ledger_id IN ($beside)
