-- Made of conf/log/producers.sql (b23c308b36ed0219) by `make docs`; do not edit.
SELECT
  p.topic,
  p.producer_name,
  CAST(SUM(p.entries) AS BIGINT) AS entries,
  CAST(SUM(p.markers) AS BIGINT) AS markers,
  CAST(SUM(p.chunk_entries) AS BIGINT) AS chunk_entries,
  CAST(SUM(p.single_messages) AS BIGINT) AS single_messages,
  CAST(SUM(p.single_bytes) AS BIGINT) AS single_bytes,
  CAST(SUM(p.batches) AS BIGINT) AS batches,
  CAST(SUM(p.batched_messages) AS BIGINT) AS batched_messages,
  CAST(SUM(p.bytes) AS BIGINT) AS bytes,
  CAST(SUM(p.chunk_bytes) AS BIGINT) AS chunk_bytes,
  MIN(p.first_ms) AS first_ms,
  MAX(p.last_ms) AS last_ms,
  MIN(p.first_chunk_ms) AS first_chunk_ms,
  MAX(p.last_chunk_ms) AS last_chunk_ms,
  MAX(p.last) AS last_sent,
  MAX(p.last_message) AS last_message,
  MAX(p.largest_entry_bytes) AS largest_entry_bytes,
  MAX(p.largest_header) AS largest_header,
  MAX(p.largest_slice) AS largest_slice,
  MAX(p.clock_ahead) AS clock_ahead
FROM producer_facts AS p
WHERE
  NOT p.topic IS NULL
GROUP BY
  p.topic,
  p.producer_name
