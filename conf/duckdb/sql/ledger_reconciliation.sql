-- Made of conf/sql/ledger_reconciliation.sql (46bccd3c83418b8e) by `make docs`; do not edit.
SELECT
  l.topic,
  l.ledger_id,
  l.copy,
  l.status,
  l.faults,
  l.expected_entries,
  s.frames AS stored_entries,
  s.decoded,
  s.rejected,
  l.expected_bytes,
  s.entry_bytes AS stored_bytes,
  s.checksum_mismatch,
  s.structure_faults,
  s.complete AS scan_complete,
  COALESCE(
    s.complete
    AND s.frames = s.decoded + s.rejected
    AND s.frames = COALESCE(l.expected_entries, s.frames)
    AND s.entry_bytes = COALESCE(l.expected_bytes, s.entry_bytes),
    FALSE
  ) AS agrees,
  l.cluster
FROM ledgers AS l
LEFT JOIN scans AS s
  ON l.cluster = s.cluster AND l.ledger_id = s.ledger_id AND l.copy = s.copy
WHERE
  l.selected
ORDER BY
  agrees,
  l.cluster,
  l.topic,
  l.ledger_id
