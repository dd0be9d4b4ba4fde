-- The books of each scanned ledger, with the first places of what was rejected in it.
SELECT
  s.topic,
  s.ledger_id,
  s.frames,
  s.rejected,
  s.structure_faults,
  s.complete AS is_complete,
  s.units,
  s.unreadable_units,
  s.unreadable,
  s.copy LIKE 'live-%' AS is_live,
  s.entry_bytes,
  s.expected_entries,
  s.expected_bytes,
  s.expected_entries - s.frames AS missing_entries,
  s.expected_bytes - s.entry_bytes AS missing_bytes,
  count(CASE WHEN r.scope = 'hidden' THEN 1 END) AS hidden,
  min(CASE WHEN r.scope = 'entry' AND r.number <= $max_evidence THEN r.entry_id END) AS first_rejected_entry_id,
  transform(
    array_sort(
      collect_list(
        CASE WHEN r.scope = 'entry' AND r.number <= $max_evidence THEN struct(r.number AS at, r.place AS value) END
      )
    ),
    one -> one.value
  ) AS entry_places,
  transform(
    array_sort(
      collect_list(
        CASE WHEN r.scope = 'structure' AND r.number <= $max_evidence THEN struct(r.number AS at, r.place AS value) END
      )
    ),
    one -> one.value
  ) AS structure_places,
  transform(
    array_sort(
      collect_list(
        CASE WHEN r.scope = 'hidden' AND r.number <= $max_evidence THEN struct(r.number AS at, r.entry AS value) END
      )
    ),
    one -> one.value
  ) AS hidden_places,
  collect_set(CAST(NULL AS string)) AS no_places
FROM scans AS s
LEFT JOIN (
  SELECT
    j.ledger_id,
    j.entry_id,
    j.scope,
    concat(j.code, ' at ', j.uri, '+', CAST(j.offset AS string)) AS place,
    concat(j.code, ' at ', CAST(j.ledger_id AS string), ':', CAST(j.entry_id AS string)) AS entry,
    row_number() OVER (PARTITION BY j.ledger_id, j.scope ORDER BY j.offset, j.code) AS number
  FROM rejects AS j
) AS r ON s.ledger_id = r.ledger_id
GROUP BY
  s.topic, s.ledger_id, s.copy, s.frames, s.rejected, s.structure_faults, s.complete, s.units, s.unreadable_units,
  s.unreadable, s.entry_bytes, s.expected_entries, s.expected_bytes
