-- Made of conf/report/broken.sql (ec12ddef7f9f3d6e) by `make docs`; do not edit.
SELECT
  topic,
  chunk_uuid,
  publish_time_ms,
  producer_name,
  state,
  flags,
  rebuildable,
  sureness,
  reason,
  first_ledger_id,
  first_entry_id,
  last_ledger_id,
  last_entry_id,
  num_chunks,
  present_chunks,
  missing_chunk_ids,
  missing_chunk_count,
  missing_bytes,
  total_bytes
FROM (
  SELECT
    m.*,
    ROW_NUMBER() OVER (
      PARTITION BY m.topic
      ORDER BY m.state IN ('whole', 'in_flight'), m.first_ledger_id, m.first_entry_id, m.chunk_uuid
    ) AS number
  FROM chunked_messages AS m
  SEMI JOIN chosen AS c
    ON m.topic IS NOT DISTINCT FROM c.topic
  WHERE
    m.state <> 'whole'
    OR ARRAY_LENGTH(m.flags) > CASE WHEN ARRAY_CONTAINS(m.flags, 'ledger_span') THEN 1 ELSE 0 END
) AS numbered
WHERE
  number <= $broken
ORDER BY
  topic,
  number
