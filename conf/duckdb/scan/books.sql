-- Made of conf/scan/books.sql (e0d1af64119431ce) by `make docs`; do not edit.
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
  COUNT(CASE WHEN r.scope = 'hidden' THEN 1 END) AS hidden,
  MIN(
    CASE
      WHEN r.scope = 'entry' AND r.number <= $max_evidence
      THEN r.entry_id
    END
  ) AS first_rejected_entry_id,
  LIST_TRANSFORM(LIST_SORT(COALESCE(LIST({'at': r.number, 'value': r.place}) FILTER (WHERE r.scope = 'entry' AND r.number <= $max_evidence), []), 'ASC', 'NULLS LAST'), LAMBDA one : one.value) AS entry_places,
  LIST_TRANSFORM(LIST_SORT(COALESCE(LIST({'at': r.number, 'value': r.place}) FILTER (WHERE r.scope = 'structure' AND r.number <= $max_evidence), []), 'ASC', 'NULLS LAST'), LAMBDA one : one.value) AS structure_places,
  LIST_TRANSFORM(LIST_SORT(COALESCE(LIST({'at': r.number, 'value': r.entry}) FILTER (WHERE r.scope = 'hidden' AND r.number <= $max_evidence), []), 'ASC', 'NULLS LAST'), LAMBDA one : one.value) AS hidden_places,
  COALESCE(LIST(DISTINCT CAST(NULL AS TEXT)) FILTER (WHERE CAST(NULL AS TEXT) IS NOT NULL), []) AS no_places
FROM scans AS s
LEFT JOIN (
  SELECT
    j.ledger_id,
    j.entry_id,
    j.scope,
    j.code || ' at ' || j.uri || '+' || CAST(j."offset" AS TEXT) AS place,
    j.code || ' at ' || CAST(j.ledger_id AS TEXT) || ':' || CAST(j.entry_id AS TEXT) AS entry,
    ROW_NUMBER() OVER (PARTITION BY j.ledger_id, j.scope ORDER BY j."offset", j.code) AS number
  FROM rejects AS j
) AS r
  ON s.ledger_id = r.ledger_id
GROUP BY
  s.topic,
  s.ledger_id,
  s.copy,
  s.frames,
  s.rejected,
  s.structure_faults,
  s.complete,
  s.units,
  s.unreadable_units,
  s.unreadable,
  s.entry_bytes,
  s.expected_entries,
  s.expected_bytes
