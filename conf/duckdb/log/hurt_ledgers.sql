-- Made of conf/log/hurt_ledgers.sql (f0a2c8966ce25dad) by `make docs`; do not edit.
SELECT
  topic,
  ledger_id,
  checksum_mismatch + rejected AS damaged,
  checksum_absent AS unverified
FROM scans
WHERE
  checksum_mismatch + rejected > 0 OR checksum_absent > 0
