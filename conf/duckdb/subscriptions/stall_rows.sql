-- Made of conf/subscriptions/stall_rows.sql (be99e40de5bc7a60) by `make docs`; do not edit.
SELECT
  c.topic,
  c.chunk_uuid,
  c.publish_time_ms,
  c.ledger_id,
  c.entry_id,
  c.chunk_id,
  c.role,
  c.payload_length,
  m.state,
  m.flags,
  m.rebuildable,
  m.sureness,
  m.reason,
  m.num_chunks,
  l.losses
FROM chunks AS c
INNER JOIN chunked_messages AS m
  ON c.topic = m.topic
  AND c.chunk_uuid = m.chunk_uuid
  AND c.publish_time_ms = m.publish_time_ms
LEFT JOIN $losses AS l
  ON c.topic = l.topic
  AND c.chunk_uuid = l.chunk_uuid
  AND c.publish_time_ms = l.publish_time_ms
WHERE
  c.topic IN (
    SELECT
      topic
    FROM $topics
  )
