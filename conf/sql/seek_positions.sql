-- Where to seek for each stored entry: the first chunk of the message it belongs to, or the entry itself.
SELECT
  e.topic,
  e.ledger_id,
  e.entry_id,
  coalesce(m.first_ledger_id, e.ledger_id) AS seek_ledger_id,
  coalesce(m.first_entry_id, e.entry_id) AS seek_entry_id,
  m.last_ledger_id AS message_ledger_id,
  m.last_entry_id AS message_entry_id,
  e.`index` - coalesce(e.num_messages_in_batch, 1) + 1 AS first_index,
  e.`index` AS last_index,
  e.num_messages_in_batch,
  e.publish_time,
  e.broker_timestamp,
  e.marker_type,
  e.uuid AS chunk_uuid,
  e.chunk_id,
  e.num_chunks_from_msg AS num_chunks,
  c.role,
  m.state,
  m.rebuildable,
  m.sureness,
  e.cluster
FROM entries AS e
LEFT JOIN chunks AS c ON e.cluster = c.cluster AND e.ledger_id = c.ledger_id AND e.entry_id = c.entry_id
LEFT JOIN chunked_messages AS m
  ON
    c.cluster = m.cluster
    AND c.topic = m.topic
    AND c.chunk_uuid = m.chunk_uuid
    AND c.publish_time_ms = m.publish_time_ms
    AND m.num_chunks > 1
ORDER BY e.cluster, e.topic, e.ledger_id, e.entry_id
