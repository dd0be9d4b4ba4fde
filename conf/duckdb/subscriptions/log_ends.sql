-- Made of conf/subscriptions/log_ends.sql (ea984adb5bc5eb6a) by `make docs`; do not edit.
SELECT
  topic,
  ARG_MAX_NULL(ledger_id, (ledger_id, last_entry_id)) AS ledger_id,
  ARG_MAX_NULL(last_entry_id, (ledger_id, last_entry_id)) AS entry_id
FROM ledger_facts
WHERE
  NOT topic IS NULL AND entries > 0
GROUP BY
  topic
