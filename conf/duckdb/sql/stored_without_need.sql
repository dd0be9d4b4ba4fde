-- Made of conf/sql/stored_without_need.sql (fe000908d71267bc) by `make docs`; do not edit.
SELECT
  i.topic,
  i.ledger_id,
  i.copy,
  i.kind,
  i.verdict,
  i.bytes,
  i.reason,
  i.needs_sole_owner,
  i.current_copy,
  i.current_copy IS NULL
  OR COALESCE(
    s.complete
    AND s.rejected = 0
    AND s.checksum_mismatch = 0
    AND s.structure_faults = 0
    AND s.order_faults = 0
    AND s.frames = l.expected_entries
    AND s.entry_bytes = l.expected_bytes
    AND s.data_bytes = l.data_bytes
    AND COALESCE(s.data_etag, '') = COALESCE(l.data_etag, ''),
    FALSE
  ) AS current_is_whole,
  i.objects,
  i.upload_id,
  i.cluster
FROM inventory AS i
LEFT JOIN ledgers AS l
  ON i.cluster = l.cluster AND i.ledger_id = l.ledger_id AND i.current_copy = l.copy
LEFT JOIN scans AS s
  ON i.cluster = s.cluster AND i.ledger_id = s.ledger_id AND i.current_copy = s.copy
WHERE
  i.leaks
ORDER BY
  i.bytes DESC,
  i.cluster,
  i.ledger_id,
  i.copy
