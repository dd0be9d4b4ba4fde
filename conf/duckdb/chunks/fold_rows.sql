-- Made of conf/chunks/fold_rows.sql (f0e5dc2fec89b965) by `make docs`; do not edit.
SELECT
  c.topic,
  COALESCE(c.uuid, '') AS chunk_uuid,
  c.ledger_id,
  c.entry_id,
  c.publish_time_ms,
  c.chunk_id,
  c.num_chunks_from_msg AS num_chunks,
  c.total_chunk_msg_size AS total_bytes,
  c.uri,
  CASE
    WHEN c.inner_offset IS NULL
    THEN c."offset" + c.payload_offset
    ELSE c."offset"
  END AS payload_offset,
  c.payload_length,
  c.payload_crc32c,
  c.checksum_state,
  c.producer_name,
  c.sequence_id,
  c.compression,
  c.uncompressed_size,
  c.is_encrypted AS encrypted,
  c.num_messages_in_batch,
  c.metadata_digest,
  c.broker_timestamp_ms,
  c.inner_offset + c.payload_offset AS inner_offset,
  c.block_length,
  p.last_sent.ledger_id AS producer_last_ledger_id,
  p.last_sent.entry_id AS producer_last_entry_id
FROM chunk_entries AS c
LEFT JOIN producers AS p
  ON c.topic = p.topic AND c.producer_name = p.producer_name
