-- Made of conf/sql/chunk_manifests.sql (ae4274cdb816bab9) by `make docs`; do not edit.
WITH listed AS (
  SELECT
    cluster,
    topic,
    chunk_uuid,
    publish_time_ms,
    MAP_VALUES(
      MAP_FROM_ENTRIES(
        LIST_SORT(COALESCE(LIST((chunk.chunk_id, chunk.ledger_id || ':' || chunk.entry_id)) FILTER (WHERE (chunk.chunk_id, chunk.ledger_id || ':' || chunk.entry_id) IS NOT NULL), []), 'ASC', 'NULLS LAST')
      )
    ) AS positions
  FROM (
    SELECT
      *,
      UNNEST(manifest) AS chunk
    FROM chunked_messages
    WHERE
      rebuildable
  ) AS exploded
  GROUP BY
    cluster,
    topic,
    chunk_uuid,
    publish_time_ms
)
SELECT
  m.topic,
  m.chunk_uuid,
  m.publish_time,
  m.state,
  m.flags,
  m.sureness,
  m.num_chunks,
  m.total_bytes,
  m.uncompressed_bytes,
  m.compression,
  m.encrypted,
  listed.positions,
  m.manifest,
  m.producer_name,
  m.sequence_id,
  m.publish_time_ms,
  m.cluster
FROM chunked_messages AS m
LEFT JOIN listed
  ON m.cluster = listed.cluster
  AND m.topic = listed.topic
  AND m.chunk_uuid = listed.chunk_uuid
  AND m.publish_time_ms = listed.publish_time_ms
WHERE
  m.rebuildable
ORDER BY
  m.cluster,
  m.topic,
  m.last_ledger_id,
  m.last_entry_id
