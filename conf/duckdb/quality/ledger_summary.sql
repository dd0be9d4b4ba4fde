-- Made of conf/quality/ledger_summary.sql (8f517f73087b6419) by `make docs`; do not edit.
WITH of_rejects AS (
  SELECT
    ledger_id,
    COUNT(*) AS rejects_rows
  FROM rejects
  WHERE
    scope = 'entry'
  GROUP BY
    ledger_id
)
SELECT
  'ledger ' || CAST(s.ledger_id AS TEXT) AS subject,
  s.topic,
  s.ledger_id,
  l.status,
  s.expected_entries,
  s.frames,
  s.decoded,
  s.rejected,
  s.expected_bytes,
  s.entry_bytes,
  s.checksum_mismatch,
  s.order_faults,
  s.structure_faults,
  s.unreadable_units,
  f.first_entry_id AS min_entry_id,
  f.last_entry_id AS max_entry_id,
  CASE
    WHEN NOT l.kind IN ($unsized_kinds) AND f.last_byte > s.data_bytes
    THEN 1
    ELSE 0
  END AS beyond_object,
  s.complete,
  COALESCE(f.entries, 0) AS entries_rows,
  COALESCE(f.entries - f.not_ascending, 0) AS distinct_entries,
  COALESCE(f.non_positive_lengths, 0) AS non_positive_lengths,
  COALESCE(f.publish_time_nulls, 0) AS publish_time_nulls,
  COALESCE(r.rejects_rows, 0) AS rejects_rows
FROM scans AS s
LEFT JOIN (
  SELECT
    ledger_id,
    status,
    kind
  FROM ledgers
  WHERE
    selected
) AS l
  ON s.ledger_id = l.ledger_id
LEFT JOIN ledger_facts AS f
  ON s.ledger_id = f.ledger_id
LEFT JOIN of_rejects AS r
  ON s.ledger_id = r.ledger_id
ORDER BY
  s.ledger_id
