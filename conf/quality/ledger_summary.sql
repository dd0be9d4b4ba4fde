-- A row per scanned ledger: its books beside what the tables hold of it.
WITH of_rejects AS (
  SELECT ledger_id, count(*) AS rejects_rows FROM rejects WHERE scope = 'entry' GROUP BY ledger_id
)

SELECT
  concat('ledger ', CAST(s.ledger_id AS string)) AS subject,
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
  -- Entries of some kinds lie in several files; places in a live ledger are made of entry ids.
  CASE WHEN l.kind NOT IN ($unsized_kinds) AND f.last_byte > s.data_bytes THEN 1 ELSE 0 END AS beyond_object,
  s.complete,
  coalesce(f.entries, 0) AS entries_rows,
  -- Ids ascend in every ledger that the walk gives; where they do not, some may repeat.
  coalesce(f.entries - f.not_ascending, 0) AS distinct_entries,
  coalesce(f.non_positive_lengths, 0) AS non_positive_lengths,
  coalesce(f.publish_time_nulls, 0) AS publish_time_nulls,
  coalesce(r.rejects_rows, 0) AS rejects_rows
FROM scans AS s
LEFT JOIN (SELECT ledger_id, status, kind FROM ledgers WHERE selected) AS l ON s.ledger_id = l.ledger_id
LEFT JOIN ledger_facts AS f ON s.ledger_id = f.ledger_id
LEFT JOIN of_rejects AS r ON s.ledger_id = r.ledger_id
ORDER BY s.ledger_id
