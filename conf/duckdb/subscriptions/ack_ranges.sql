-- Made of conf/subscriptions/ack_ranges.sql (a739a93e55e4fd50) by `make docs`; do not edit.
SELECT
  topic,
  subscription,
  ledger_id,
  first_entry_id,
  last_entry_id,
  kind,
  entries,
  messages,
  bytes,
  unacked_batch_indexes
FROM acks
WHERE
  kind <> $sum
