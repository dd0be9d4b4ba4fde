-- Made of conf/subscriptions/stops.sql (690574397f1aead5) by `make docs`; do not edit.
SELECT DISTINCT
  topic,
  subscription,
  model,
  reason,
  ledger_id,
  entry_id
FROM answers
WHERE
  outcome IS NULL AND NOT after_reset
