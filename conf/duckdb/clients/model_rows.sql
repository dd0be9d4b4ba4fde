-- Made of conf/clients/model_rows.sql (cf0d010707818bf3) by `make docs`; do not edit.
WITH chunk_rows AS (
  SELECT
    topic,
    ledger_id,
    entry_id,
    COALESCE(uuid, '') AS uuid,
    publish_time_ms,
    COALESCE(broker_timestamp_ms, publish_time_ms) AS stored_ms,
    chunk_id,
    num_chunks_from_msg AS num_chunks,
    COALESCE(total_chunk_msg_size, 0) AS total_bytes,
    payload_length - CASE WHEN is_encrypted THEN $tag ELSE 0 END AS slice_bytes,
    NOT num_messages_in_batch IS NULL AS batched,
    checksum_state AS checksum,
    CASE
      WHEN compression IN ($codecs)
      THEN compression
      WHEN compression <> $plain
      THEN $unknown
    END AS codec,
    uncompressed_size AS uncompressed_bytes
  FROM chunk_entries
), found AS (
  SELECT
    topic,
    chunk_uuid,
    publish_time_ms,
    copies,
    sureness,
    CASE
      WHEN decode_state IN ('ok', 'not_needed')
      THEN 'fits'
      WHEN decode_state = 'fault'
      THEN 'garbage'
      WHEN decode_state = 'wrong_size'
      AND COALESCE(decoded_bytes > uncompressed_bytes, TRUE)
      THEN 'claim_too_small'
      WHEN decode_state = 'wrong_size'
      THEN 'claim_too_large'
      ELSE 'unknown'
    END AS payload,
    state IN ($complete) AS whole,
    state = 'in_flight' AS in_flight
  FROM chunked_messages
)
SELECT
  r.topic,
  r.ledger_id,
  r.entry_id,
  r.uuid,
  r.publish_time_ms,
  r.stored_ms,
  r.chunk_id,
  r.num_chunks,
  r.total_bytes,
  r.slice_bytes,
  r.batched,
  r.checksum,
  r.codec,
  r.uncompressed_bytes,
  m.payload,
  m.copies,
  m.whole,
  m.in_flight,
  m.sureness,
  e.end_ms
FROM chunk_rows AS r
INNER JOIN found AS m
  ON r.topic = m.topic
  AND r.uuid = m.chunk_uuid
  AND r.publish_time_ms = m.publish_time_ms
INNER JOIN (
  SELECT
    topic,
    MAX(stored_ms) AS end_ms
  FROM chunk_rows
  GROUP BY
    topic
) AS e
  ON r.topic = e.topic
