-- Each stretch of a chunked message that is stored nowhere, half-open, in bytes of the compressed message.
SELECT
  topic,
  chunk_uuid,
  publish_time,
  state,
  missing.start AS start_byte,
  missing.end AS end_byte,
  missing.end - missing.start AS bytes,
  total_bytes,
  cluster
FROM chunked_messages
LATERAL VIEW explode(missing_bytes) AS missing
ORDER BY cluster, topic, chunk_uuid, publish_time, start_byte
