-- Every rebuildable chunked message with the positions of its chunks in order, as PIP-37's marker message would have named them.
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
  transform(m.manifest, chunk -> concat(chunk.ledger_id, ':', chunk.entry_id)) AS positions,
  m.manifest,
  m.producer_name,
  m.sequence_id,
  m.publish_time_ms,
  m.cluster
FROM chunked_messages AS m
WHERE m.rebuildable
ORDER BY m.cluster, m.topic, m.last_ledger_id, m.last_entry_id
