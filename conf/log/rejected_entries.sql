-- Entries of some ledgers that could not be decoded.
SELECT ledger_id, entry_id
FROM rejects
WHERE ledger_id IN ($damaged) AND scope = 'entry'
