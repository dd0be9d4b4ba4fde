-- Made of conf/chunks/topic_load.sql (c9e16edbd60b2647) by `make docs`; do not edit.
WITH named AS (
  SELECT
    *,
    markers < entries AS sends,
    (
      last_chunk_ms - first_chunk_ms
    ) / NULLIF(1000, 0) AS seconds,
    ROW_NUMBER() OVER (PARTITION BY topic ORDER BY chunk_entries DESC, entries DESC, producer_name) AS number
  FROM producer_limits
), of_producers AS (
  SELECT
    topic,
    CAST(SUM(entries) AS BIGINT) AS entries,
    CAST(SUM(bytes) AS BIGINT) AS bytes,
    CAST(SUM(markers) AS BIGINT) AS markers,
    CAST(SUM(single_messages) AS BIGINT) AS single_messages,
    CAST(SUM(single_bytes) AS BIGINT) AS single_bytes,
    CAST(SUM(batches) AS BIGINT) AS batches,
    CAST(SUM(batched_messages) AS BIGINT) AS batched_messages,
    CAST(SUM(chunk_entries) AS BIGINT) AS chunk_entries,
    CAST(SUM(chunk_bytes) AS BIGINT) AS chunk_bytes,
    CAST(EPOCH_MS(CAST(MIN(first_ms) AS BIGINT)) AS TIMESTAMPTZ) AS first_time,
    CAST(EPOCH_MS(CAST(MAX(last_ms) AS BIGINT)) AS TIMESTAMPTZ) AS last_time,
    MAX(largest_entry_bytes) AS largest_entry_bytes,
    MAX(largest_header.bytes) AS largest_header_bytes,
    MAX(largest_slice).bytes AS slice_bytes,
    ARG_MAX_NULL(limit_bytes, largest_slice) AS limit_bytes,
    CAST(SUM(
      CASE
        WHEN chunk_entries > 0 AND single_bytes <= $small * single_messages
        THEN single_messages
        ELSE 0
      END
    ) AS BIGINT) AS small_singles,
    COUNT(CASE WHEN sends THEN 1 END) AS producer_count,
    LIST_TRANSFORM(LIST_SORT(COALESCE(LIST({'at': number, 'value': {'producer_name': producer_name, 'entries': entries, 'chunk_entries': chunk_entries, 'chunks_per_second': CASE WHEN seconds > 0 THEN chunk_entries / NULLIF(seconds, 0) END, 'bytes': bytes, 'first_time': CAST(EPOCH_MS(CAST(first_ms AS BIGINT)) AS TIMESTAMPTZ), 'last_time': CAST(EPOCH_MS(CAST(last_ms AS BIGINT)) AS TIMESTAMPTZ), 'clock_ahead_ms': clock_ahead.ms}}) FILTER (WHERE sends AND number <= $max_producers), []), 'ASC', 'NULLS LAST'), LAMBDA one : one.value) AS producers
  FROM named
  GROUP BY
    topic
), of_messages AS (
  SELECT
    topic,
    COUNT(*) AS chunked_messages,
    COUNT(CASE WHEN state IN ('in_flight', $incomplete) THEN 1 END) AS incomplete_messages,
    COUNT(
      CASE
        WHEN state IN ('headless', 'gap', 'out_of_order')
        AND NOT ARRAY_CONTAINS(missing_chunk_ids, num_chunks - 1)
        THEN 1
      END
    ) AS unusable_last_chunks,
    MAX(num_chunks) AS max_chunks,
    MAX(total_bytes) AS max_message_bytes,
    CAST(TRUNC(SIGN(AVG(total_bytes)) * FLOOR(ABS(AVG(total_bytes)))) AS BIGINT) AS mean_message_bytes,
    MAX(CASE WHEN state = 'whole' THEN span_ms END) AS max_span_ms,
    MAX(CASE WHEN state = 'whole' THEN span_entries END) AS max_span_entries
  FROM chunked_messages
  GROUP BY
    topic
)
SELECT
  p.topic,
  p.entries,
  p.bytes,
  p.markers,
  p.single_messages,
  p.single_bytes,
  p.batches,
  p.batched_messages,
  p.chunk_entries,
  p.chunk_bytes,
  p.first_time,
  p.last_time,
  COALESCE(m.chunked_messages > 0, FALSE) AS chunks_published,
  COALESCE(m.chunked_messages, 0) AS chunked_messages,
  COALESCE(m.incomplete_messages, 0) AS incomplete_messages,
  COALESCE(m.unusable_last_chunks, 0) AS unusable_last_chunks,
  m.max_chunks,
  m.max_message_bytes,
  m.mean_message_bytes,
  m.max_span_ms,
  m.max_span_entries,
  o.peak_open_messages,
  o.peak_open_bytes,
  o.open_over_time,
  p.largest_header_bytes,
  p.slice_bytes,
  p.limit_bytes,
  p.largest_entry_bytes,
  p.producer_count,
  p.producers,
  p.small_singles
FROM of_producers AS p
LEFT JOIN of_messages AS m
  ON p.topic = m.topic
INNER JOIN open_messages AS o
  ON p.topic = o.topic
