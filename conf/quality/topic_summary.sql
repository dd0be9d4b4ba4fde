-- A row per topic: entries against chunks and publications, and how its orderings hold.
WITH of_entries AS (
  SELECT
    f.topic,
    CAST(sum(f.entries) AS bigint) AS entries,
    CAST(sum(f.chunk_entries) AS bigint) AS chunk_entries,
    CAST(sum(f.index_backwards) AS bigint) AS index_backwards,
    CAST(sum(f.broker_time_backwards) AS bigint) AS broker_time_backwards,
    CAST(sum(f.publish_time_backwards) AS bigint) AS publish_time_backwards,
    max(f.max_publish_skew_ms) AS max_publish_skew_ms,
    max(f.largest_entry_bytes) AS largest_entry_bytes,
    min(f.oldest_stored_ms) AS oldest_time_ms,
    max(f.newest_stored_ms) AS newest_time_ms
  FROM ledger_facts AS f
  WHERE f.topic IS NOT NULL AND f.entries > 0
  GROUP BY f.topic
),

of_chunks AS (
  SELECT topic, count(*) AS chunks_rows FROM chunks GROUP BY topic
),

of_messages AS (
  SELECT topic, count(*) AS chunked_messages, CAST(sum(copies) AS bigint) AS copies_in_messages
  FROM chunked_messages
  GROUP BY topic
),

topics AS (
  SELECT topic FROM of_entries
  UNION
  SELECT topic FROM of_chunks
  UNION
  SELECT topic FROM of_messages
)

SELECT
  t.topic AS subject,
  t.topic,
  e.max_publish_skew_ms,
  e.oldest_time_ms,
  e.newest_time_ms,
  e.largest_entry_bytes,
  coalesce(e.entries, 0) AS entries,
  coalesce(e.chunk_entries, 0) AS chunk_entries,
  coalesce(e.index_backwards, 0) AS index_backwards,
  coalesce(e.broker_time_backwards, 0) AS broker_time_backwards,
  coalesce(e.publish_time_backwards, 0) AS publish_time_backwards,
  coalesce(c.chunks_rows, 0) AS chunks_rows,
  coalesce(m.chunked_messages, 0) AS chunked_messages,
  coalesce(m.copies_in_messages, 0) AS copies_in_messages
FROM topics AS t
LEFT JOIN of_entries AS e ON t.topic = e.topic
LEFT JOIN of_chunks AS c ON t.topic = c.topic
LEFT JOIN of_messages AS m ON t.topic = m.topic
ORDER BY t.topic
