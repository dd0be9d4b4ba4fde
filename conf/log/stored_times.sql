-- When the entries of some ledgers were stored, and which of them are odd.
SELECT ledger_id, oldest_stored_ms, newest_stored_ms, odd
FROM ledger_facts
WHERE ledger_id IN ($beside)
