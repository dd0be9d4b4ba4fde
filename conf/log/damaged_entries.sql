-- Noted entries that a checksum contradicts, or that have none, in some ledgers; with what they say of themselves.
SELECT
  ledger_id, entry_id, checksum_state, uuid, producer_name, sequence_id, payload_length, payload_crc32c
FROM noted_entries
WHERE
  (ledger_id IN ($damaged) AND checksum_state = 'mismatch') OR (ledger_id IN ($unverified) AND checksum_state = 'absent')
