-- What each producer stored on each topic: the rows of its facts added up; none where nothing names the topic.
SELECT
  p.topic,
  p.producer_name,
  CAST(sum(p.entries) AS bigint) AS entries,
  CAST(sum(p.markers) AS bigint) AS markers,
  CAST(sum(p.chunk_entries) AS bigint) AS chunk_entries,
  CAST(sum(p.single_messages) AS bigint) AS single_messages,
  CAST(sum(p.single_bytes) AS bigint) AS single_bytes,
  CAST(sum(p.batches) AS bigint) AS batches,
  CAST(sum(p.batched_messages) AS bigint) AS batched_messages,
  CAST(sum(p.bytes) AS bigint) AS bytes,
  CAST(sum(p.chunk_bytes) AS bigint) AS chunk_bytes,
  min(p.first_ms) AS first_ms,
  max(p.last_ms) AS last_ms,
  min(p.first_chunk_ms) AS first_chunk_ms,
  max(p.last_chunk_ms) AS last_chunk_ms,
  max(p.last) AS last_sent,
  max(p.last_message) AS last_message,
  max(p.largest_entry_bytes) AS largest_entry_bytes,
  max(p.largest_header) AS largest_header,
  max(p.largest_slice) AS largest_slice,
  max(p.clock_ahead) AS clock_ahead
FROM producer_facts AS p
WHERE p.topic IS NOT NULL
GROUP BY p.topic, p.producer_name
