-- What each topic's log shows of load, chunks and producers.
-- `small_singles`: messages of up to $small bytes, one by one, of producers that also send chunks.
WITH named AS (
  SELECT
    *,
    -- Who wrote nothing but markers is the broker.
    markers < entries AS sends,
    (last_chunk_ms - first_chunk_ms) / 1000 AS seconds,
    row_number() OVER (PARTITION BY topic ORDER BY chunk_entries DESC, entries DESC, producer_name) AS number
  FROM producer_limits
),

of_producers AS (
  SELECT
    topic,
    CAST(sum(entries) AS bigint) AS entries,
    CAST(sum(bytes) AS bigint) AS bytes,
    CAST(sum(markers) AS bigint) AS markers,
    CAST(sum(single_messages) AS bigint) AS single_messages,
    CAST(sum(single_bytes) AS bigint) AS single_bytes,
    CAST(sum(batches) AS bigint) AS batches,
    CAST(sum(batched_messages) AS bigint) AS batched_messages,
    CAST(sum(chunk_entries) AS bigint) AS chunk_entries,
    CAST(sum(chunk_bytes) AS bigint) AS chunk_bytes,
    timestamp_millis(min(first_ms)) AS first_time,
    timestamp_millis(max(last_ms)) AS last_time,
    max(largest_entry_bytes) AS largest_entry_bytes,
    max(largest_header.bytes) AS largest_header_bytes,
    max(largest_slice).bytes AS slice_bytes,
    max_by(limit_bytes, largest_slice) AS limit_bytes,
    CAST(
      sum(CASE WHEN chunk_entries > 0 AND single_bytes <= $small * single_messages THEN single_messages ELSE 0 END)
      AS bigint
    ) AS small_singles,
    count(CASE WHEN sends THEN 1 END) AS producer_count,
    transform(
      array_sort(
        collect_list(
          CASE
            WHEN sends AND number <= $max_producers THEN
              struct(
                number AS at,
                named_struct(
                  'producer_name', producer_name,
                  'entries', entries,
                  'chunk_entries', chunk_entries,
                  'chunks_per_second', CASE WHEN seconds > 0 THEN chunk_entries / seconds END,
                  'bytes', bytes,
                  'first_time', timestamp_millis(first_ms),
                  'last_time', timestamp_millis(last_ms),
                  'clock_ahead_ms', clock_ahead.ms
                ) AS value
              )
          END
        )
      ),
      one -> one.value
    ) AS producers
  FROM named
  GROUP BY topic
),

of_messages AS (
  SELECT
    topic,
    count(*) AS chunked_messages,
    count(CASE WHEN state IN ('in_flight', $incomplete) THEN 1 END) AS incomplete_messages,
    count(
      CASE
        WHEN state IN ('headless', 'gap', 'out_of_order') AND NOT array_contains(missing_chunk_ids, num_chunks - 1)
          THEN 1
      END
    ) AS unusable_last_chunks,
    max(num_chunks) AS max_chunks,
    max(total_bytes) AS max_message_bytes,
    CAST(sign(avg(total_bytes)) * floor(abs(avg(total_bytes))) AS bigint) AS mean_message_bytes,
    max(CASE WHEN state = 'whole' THEN span_ms END) AS max_span_ms,
    max(CASE WHEN state = 'whole' THEN span_entries END) AS max_span_entries
  FROM chunked_messages
  GROUP BY topic
)

SELECT
  p.topic, p.entries, p.bytes, p.markers, p.single_messages, p.single_bytes, p.batches, p.batched_messages,
  p.chunk_entries, p.chunk_bytes, p.first_time, p.last_time,
  coalesce(m.chunked_messages > 0, FALSE) AS chunks_published,
  coalesce(m.chunked_messages, 0) AS chunked_messages,
  coalesce(m.incomplete_messages, 0) AS incomplete_messages,
  coalesce(m.unusable_last_chunks, 0) AS unusable_last_chunks,
  m.max_chunks, m.max_message_bytes, m.mean_message_bytes, m.max_span_ms, m.max_span_entries,
  o.peak_open_messages,
  o.peak_open_bytes,
  o.open_over_time,
  p.largest_header_bytes, p.slice_bytes, p.limit_bytes, p.largest_entry_bytes, p.producer_count, p.producers,
  p.small_singles
FROM of_producers AS p
LEFT JOIN of_messages AS m ON p.topic = m.topic
INNER JOIN open_messages AS o ON p.topic = o.topic
