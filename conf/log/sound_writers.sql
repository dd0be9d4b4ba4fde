-- Producers that damaged entries name, in ledgers beside which they wrote a sound one: their last of a stretch is known.
SELECT DISTINCT ledger_id, producer_name
FROM producer_facts
WHERE
  ledger_id IN ($beside)
  AND last IS NOT NULL
  AND producer_name IN (
    SELECT producer_name
    FROM noted_entries
    WHERE
      (ledger_id IN ($damaged) AND checksum_state = 'mismatch')
      OR (ledger_id IN ($unverified) AND checksum_state = 'absent')
  )
