-- Messages of scalable topics (Pulsar 5) in the order of the topic: parents before children, within a segment the log's order.
SELECT
  s.topic,
  s.segment_id,
  s.segment,
  m.ledger_id,
  m.entry_id,
  m.batch_index,
  m.publish_time,
  m.chunk_uuid,
  m.payload_bytes,
  m.transaction,
  m.cluster
FROM messages AS m
INNER JOIN segments AS s ON m.cluster = s.cluster AND m.topic = s.segment
WHERE NOT EXISTS (SELECT 1 FROM gone_ledgers AS g WHERE m.cluster = g.cluster AND m.ledger_id = g.ledger_id)
ORDER BY m.cluster, s.topic, s.segment_id, s.segment, m.ledger_id, m.entry_id, m.batch_index
