-- Runs of entries that a subscription has not acknowledged.
SELECT
  topic, subscription, ledger_id, first_entry_id, last_entry_id, kind, entries, messages, bytes, unacked_batch_indexes
FROM acks
WHERE kind <> $sum
