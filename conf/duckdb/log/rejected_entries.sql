-- Made of conf/log/rejected_entries.sql (100d52cf67db8aea) by `make docs`; do not edit.
SELECT
  ledger_id,
  entry_id
FROM rejects
WHERE
  ledger_id IN ($damaged) AND scope = 'entry'
