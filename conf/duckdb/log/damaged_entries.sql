-- Made of conf/log/damaged_entries.sql (92a911a77149f95f) by `make docs`; do not edit.
SELECT
  ledger_id,
  entry_id,
  checksum_state,
  uuid,
  producer_name,
  sequence_id,
  payload_length,
  payload_crc32c
FROM noted_entries
WHERE
  (
    ledger_id IN ($damaged) AND checksum_state = 'mismatch'
  )
  OR (
    ledger_id IN ($unverified) AND checksum_state = 'absent'
  )
