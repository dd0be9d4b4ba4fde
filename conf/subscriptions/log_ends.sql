-- The last stored entry of each topic.
SELECT topic, max_by(ledger_id, (ledger_id, last_entry_id)) AS ledger_id, max_by(last_entry_id, (ledger_id, last_entry_id)) AS entry_id
FROM ledger_facts
WHERE topic IS NOT NULL AND entries > 0
GROUP BY topic
