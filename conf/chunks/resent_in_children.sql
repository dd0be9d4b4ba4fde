-- Unfinished sends in segments whose message is stored whole in another segment of the same scalable topic.
-- On a sealed segment a producer of 5.0 sends the whole message again to a child, under another uuid; bytes tell its chunks.
WITH in_segments AS (
  SELECT
    topic, uuid, publish_time_ms, ledger_id, entry_id, chunk_id, num_chunks_from_msg, total_chunk_msg_size,
    payload_length, payload_crc32c, checksum_state, is_encrypted,
    regexp_extract(topic, '(.*)/', 1) AS scalable,
    regexp_extract(producer_name, '(.*)-seg-[0-9]+', 1) AS producer,
    struct(num_chunks_from_msg, total_chunk_msg_size, coalesce(compression, ''), coalesce(uncompressed_size, -1), metadata_digest) AS content
  FROM chunk_entries
  WHERE topic LIKE 'segment://%' AND chunk_id IS NOT NULL AND num_chunks_from_msg > 1 AND uuid IS NOT NULL
),

sends AS (
  SELECT
    topic,
    uuid,
    publish_time_ms,
    scalable,
    producer,
    max(num_chunks_from_msg) AS num_chunks,
    count(DISTINCT chunk_id) AS chunks,
    count(*) AS copies,
    max(chunk_id) AS last_chunk,
    count(DISTINCT content) AS contents,
    max(content) AS content,
    min_by(payload_crc32c, chunk_id) AS first_crc32c,
    bool_and(checksum_state = 'valid' AND payload_crc32c IS NOT NULL AND NOT is_encrypted) AS is_sound
  FROM in_segments
  GROUP BY topic, uuid, publish_time_ms, scalable, producer
),

pairs AS (
  SELECT
    p.topic,
    p.uuid,
    p.publish_time_ms,
    p.chunks,
    w.topic AS whole_topic,
    w.uuid AS whole_uuid,
    w.publish_time_ms AS whole_publish_time_ms
  FROM sends AS p
  INNER JOIN sends AS w
    ON p.scalable = w.scalable AND p.producer = w.producer AND p.content = w.content
      AND p.first_crc32c = w.first_crc32c AND p.topic != w.topic
  WHERE p.is_sound AND w.is_sound AND p.contents = 1 AND w.contents = 1
    AND p.chunks = p.copies AND p.last_chunk = p.chunks - 1 AND p.chunks < p.num_chunks
    AND w.chunks = w.num_chunks AND w.copies = w.chunks
    AND w.publish_time_ms >= p.publish_time_ms
),

same AS (
  SELECT
    p.topic,
    p.uuid,
    p.publish_time_ms,
    p.whole_topic,
    min(CASE WHEN w.chunk_id = 0 THEN w.ledger_id END) AS whole_ledger_id,
    min(CASE WHEN w.chunk_id = 0 THEN w.entry_id END) AS whole_entry_id
  FROM pairs AS p
  INNER JOIN in_segments AS c
    ON p.topic = c.topic AND p.uuid = c.uuid AND p.publish_time_ms = c.publish_time_ms
  INNER JOIN in_segments AS w
    ON p.whole_topic = w.topic AND p.whole_uuid = w.uuid AND p.whole_publish_time_ms = w.publish_time_ms
      AND c.chunk_id = w.chunk_id AND c.payload_crc32c = w.payload_crc32c AND c.payload_length = w.payload_length
      AND c.content = w.content
  GROUP BY p.topic, p.uuid, p.publish_time_ms, p.whole_topic, p.whole_uuid, p.whole_publish_time_ms, p.chunks
  HAVING count(*) = p.chunks
)

SELECT
  topic,
  uuid AS chunk_uuid,
  publish_time_ms,
  min(whole_topic) AS whole_topic,
  min_by(whole_ledger_id, whole_topic) AS whole_ledger_id,
  min_by(whole_entry_id, whole_topic) AS whole_entry_id
FROM same
GROUP BY topic, uuid, publish_time_ms
