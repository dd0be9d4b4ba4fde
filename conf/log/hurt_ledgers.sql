-- Ledgers that hold damaged entries, or such without a checksum, with how many.
SELECT topic, ledger_id, checksum_mismatch + rejected AS damaged, checksum_absent AS unverified
FROM scans
WHERE checksum_mismatch + rejected > 0 OR checksum_absent > 0
