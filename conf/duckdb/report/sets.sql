-- Made of conf/report/sets.sql (e30c2f5ea07cda48) by `make docs`; do not edit.
SELECT
  s.*,
  CASE
    WHEN ARRAY_LENGTH(s.unacked_positions) > 0
    THEN s.unacked.ledger_id
    ELSE s.first_chunk_ledger_id
  END AS ledger_id,
  CASE
    WHEN ARRAY_LENGTH(s.unacked_positions) > 0
    THEN s.unacked.entry_id
    ELSE s.first_chunk_entry_id
  END AS entry_id
FROM (
  SELECT
    *,
    unacked_positions[1] AS unacked
  FROM stalls
) AS s
