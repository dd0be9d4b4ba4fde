-- Made of conf/log/sound_writers.sql (90dead8dd59c2725) by `make docs`; do not edit.
SELECT DISTINCT
  ledger_id,
  producer_name
FROM producer_facts
WHERE
  ledger_id IN ($beside)
  AND NOT last IS NULL
  AND producer_name IN (
    SELECT
      producer_name
    FROM noted_entries
    WHERE
      (
        ledger_id IN ($damaged) AND checksum_state = 'mismatch'
      )
      OR (
        ledger_id IN ($unverified) AND checksum_state = 'absent'
      )
  )
