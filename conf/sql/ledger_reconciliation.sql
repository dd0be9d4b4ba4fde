-- Ledgers: what their metadata promises against what was walked, decoded and rejected; unequal ones first.
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
  coalesce(
    s.complete AND s.frames = s.decoded + s.rejected
      AND s.frames = coalesce(l.expected_entries, s.frames)
      AND s.entry_bytes = coalesce(l.expected_bytes, s.entry_bytes),
    FALSE
  ) AS agrees,
  l.cluster
FROM ledgers AS l
LEFT JOIN scans AS s ON l.cluster = s.cluster AND l.ledger_id = s.ledger_id AND l.copy = s.copy
WHERE l.selected
ORDER BY agrees, l.cluster, l.topic, l.ledger_id
