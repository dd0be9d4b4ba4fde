-- Made of conf/chunks/resent_in_children.sql (fd4cabbdda543665) by `make docs`; do not edit.
WITH in_segments AS (
  SELECT
    topic,
    uuid,
    publish_time_ms,
    ledger_id,
    entry_id,
    chunk_id,
    num_chunks_from_msg,
    total_chunk_msg_size,
    payload_length,
    payload_crc32c,
    checksum_state,
    is_encrypted,
    REGEXP_EXTRACT(topic, '(.*)/', 1) AS scalable,
    REGEXP_EXTRACT(producer_name, '(.*)-seg-[0-9]+', 1) AS producer,
    {'num_chunks_from_msg': num_chunks_from_msg, 'total_chunk_msg_size': total_chunk_msg_size, 'col3': COALESCE(compression, ''), 'col4': COALESCE(uncompressed_size, -1), 'metadata_digest': metadata_digest} AS content
  FROM chunk_entries
  WHERE
    topic LIKE 'segment://%'
    AND NOT chunk_id IS NULL
    AND num_chunks_from_msg > 1
    AND NOT uuid IS NULL
), sends AS (
  SELECT
    topic,
    uuid,
    publish_time_ms,
    scalable,
    producer,
    MAX(num_chunks_from_msg) AS num_chunks,
    COUNT(DISTINCT chunk_id) AS chunks,
    COUNT(*) AS copies,
    MAX(chunk_id) AS last_chunk,
    COUNT(DISTINCT content) AS contents,
    MAX(content) AS content,
    ARG_MIN_NULL(payload_crc32c, chunk_id) AS first_crc32c,
    BOOL_AND(
      CAST(checksum_state = 'valid' AND NOT payload_crc32c IS NULL AND NOT is_encrypted AS BOOLEAN)
    ) AS is_sound
  FROM in_segments
  GROUP BY
    topic,
    uuid,
    publish_time_ms,
    scalable,
    producer
), pairs AS (
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
    ON p.scalable = w.scalable
    AND p.producer = w.producer
    AND p.content = w.content
    AND p.first_crc32c = w.first_crc32c
    AND p.topic <> w.topic
  WHERE
    p.is_sound
    AND w.is_sound
    AND p.contents = 1
    AND w.contents = 1
    AND p.chunks = p.copies
    AND p.last_chunk = p.chunks - 1
    AND p.chunks < p.num_chunks
    AND w.chunks = w.num_chunks
    AND w.copies = w.chunks
    AND w.publish_time_ms >= p.publish_time_ms
), same AS (
  SELECT
    p.topic,
    p.uuid,
    p.publish_time_ms,
    p.whole_topic,
    MIN(CASE WHEN w.chunk_id = 0 THEN w.ledger_id END) AS whole_ledger_id,
    MIN(CASE WHEN w.chunk_id = 0 THEN w.entry_id END) AS whole_entry_id
  FROM pairs AS p
  INNER JOIN in_segments AS c
    ON p.topic = c.topic AND p.uuid = c.uuid AND p.publish_time_ms = c.publish_time_ms
  INNER JOIN in_segments AS w
    ON p.whole_topic = w.topic
    AND p.whole_uuid = w.uuid
    AND p.whole_publish_time_ms = w.publish_time_ms
    AND c.chunk_id = w.chunk_id
    AND c.payload_crc32c = w.payload_crc32c
    AND c.payload_length = w.payload_length
    AND c.content = w.content
  GROUP BY
    p.topic,
    p.uuid,
    p.publish_time_ms,
    p.whole_topic,
    p.whole_uuid,
    p.whole_publish_time_ms,
    p.chunks
  HAVING
    COUNT(*) = p.chunks
)
SELECT
  topic,
  uuid AS chunk_uuid,
  publish_time_ms,
  MIN(whole_topic) AS whole_topic,
  ARG_MIN_NULL(whole_ledger_id, whole_topic) AS whole_ledger_id,
  ARG_MIN_NULL(whole_entry_id, whole_topic) AS whole_entry_id
FROM same
GROUP BY
  topic,
  uuid,
  publish_time_ms
