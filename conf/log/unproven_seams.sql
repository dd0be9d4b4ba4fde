-- Ledgers of each topic after which the next stored one does not go on with the next index (PIP-70).
SELECT topic, ledger_id
FROM (
  SELECT
    topic,
    ledger_id,
    last_entry_index,
    lead(first_message_index) OVER (PARTITION BY topic ORDER BY ledger_id) AS next_index
  FROM ledger_facts
  WHERE topic IS NOT NULL AND entries > 0
) AS seams
WHERE NOT coalesce(CAST(next_index AS decimal(20, 0)) = CAST(last_entry_index AS decimal(20, 0)) + 1, FALSE)
