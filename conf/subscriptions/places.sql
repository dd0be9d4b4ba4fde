-- Places of what stalls and stored batches show.
-- Of a stall where its set begins: its first copy that is not acknowledged, or its chunk 0 where none is named, as where
-- compaction cut it.
SELECT topic, ledger_id, entry_id, sureness, reason, code
FROM (
  SELECT DISTINCT topic, subscription, chunk_uuid, publish_time_ms, ledger_id, entry_id, sureness, reason, $code AS code
  FROM (
    SELECT *, explode(kinds) AS one
    FROM (
      SELECT
        topic, subscription, chunk_uuid, publish_time_ms, sureness, reason,
        array_append(also, kind) AS kinds,
        coalesce(try_element_at(unacked_positions, 1).ledger_id, first_chunk_ledger_id) AS ledger_id,
        coalesce(try_element_at(unacked_positions, 1).entry_id, first_chunk_entry_id) AS entry_id
      FROM new_stalls
    ) AS placed
  ) AS each
) AS coded
WHERE code IS NOT NULL

UNION ALL

SELECT
  topic, ledger_id, first_entry_id AS entry_id, 'certain' AS sureness, 'compared with the stored batch' AS reason,
  'K12' AS code
FROM acks
WHERE impossible
