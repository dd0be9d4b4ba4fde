-- Chunk sets with where they begin: at the first copy that is not acknowledged, at chunk 0 where none is named.
SELECT
  s.*,
  CASE WHEN size(s.unacked_positions) > 0 THEN s.unacked.ledger_id ELSE s.first_chunk_ledger_id END AS ledger_id,
  CASE WHEN size(s.unacked_positions) > 0 THEN s.unacked.entry_id ELSE s.first_chunk_entry_id END AS entry_id
FROM (SELECT *, try_element_at(unacked_positions, 1) AS unacked FROM stalls) AS s
