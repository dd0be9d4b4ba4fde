-- Copies of the chunked messages of the topics in `$topics`, with what was found of their message, who loses it (`$losses`), and until when it is delayed.
SELECT
  c.topic, c.chunk_uuid, c.publish_time_ms, c.ledger_id, c.entry_id, c.chunk_id, c.role, c.payload_length,
  m.state, m.flags, m.rebuildable, m.sureness, m.reason, m.num_chunks, l.losses,
  d.deliver_at_ms
FROM chunks AS c
INNER JOIN chunked_messages AS m
  ON c.topic = m.topic AND c.chunk_uuid = m.chunk_uuid AND c.publish_time_ms = m.publish_time_ms
LEFT JOIN $losses AS l
  ON c.topic = l.topic AND c.chunk_uuid = l.chunk_uuid AND c.publish_time_ms = l.publish_time_ms
LEFT JOIN delayed_chunks AS d
  ON c.topic = d.topic AND c.chunk_uuid = d.chunk_uuid AND c.publish_time_ms = d.publish_time_ms
WHERE c.topic IN (SELECT topic FROM $topics)
