-- Made of conf/quality/topic_summary.sql (4d9a8db2b7eaae58) by `make docs`; do not edit.
WITH of_entries AS (
  SELECT
    f.topic,
    CAST(SUM(f.entries) AS BIGINT) AS entries,
    CAST(SUM(f.chunk_entries) AS BIGINT) AS chunk_entries,
    CAST(SUM(f.index_backwards) AS BIGINT) AS index_backwards,
    CAST(SUM(f.broker_time_backwards) AS BIGINT) AS broker_time_backwards,
    CAST(SUM(f.publish_time_backwards) AS BIGINT) AS publish_time_backwards,
    MAX(f.max_publish_skew_ms) AS max_publish_skew_ms,
    MAX(f.largest_entry_bytes) AS largest_entry_bytes,
    MIN(f.oldest_stored_ms) AS oldest_time_ms,
    MAX(f.newest_stored_ms) AS newest_time_ms
  FROM ledger_facts AS f
  WHERE
    NOT f.topic IS NULL AND f.entries > 0
  GROUP BY
    f.topic
), of_chunks AS (
  SELECT
    topic,
    COUNT(*) AS chunks_rows
  FROM chunks
  GROUP BY
    topic
), of_messages AS (
  SELECT
    topic,
    COUNT(*) AS chunked_messages,
    CAST(SUM(copies) AS BIGINT) AS copies_in_messages
  FROM chunked_messages
  GROUP BY
    topic
), topics AS (
  SELECT
    topic
  FROM of_entries
  UNION
  SELECT
    topic
  FROM of_chunks
  UNION
  SELECT
    topic
  FROM of_messages
)
SELECT
  t.topic AS subject,
  t.topic,
  e.max_publish_skew_ms,
  e.oldest_time_ms,
  e.newest_time_ms,
  e.largest_entry_bytes,
  COALESCE(e.entries, 0) AS entries,
  COALESCE(e.chunk_entries, 0) AS chunk_entries,
  COALESCE(e.index_backwards, 0) AS index_backwards,
  COALESCE(e.broker_time_backwards, 0) AS broker_time_backwards,
  COALESCE(e.publish_time_backwards, 0) AS publish_time_backwards,
  COALESCE(c.chunks_rows, 0) AS chunks_rows,
  COALESCE(m.chunked_messages, 0) AS chunked_messages,
  COALESCE(m.copies_in_messages, 0) AS copies_in_messages
FROM topics AS t
LEFT JOIN of_entries AS e
  ON t.topic = e.topic
LEFT JOIN of_chunks AS c
  ON t.topic = c.topic
LEFT JOIN of_messages AS m
  ON t.topic = m.topic
ORDER BY
  t.topic
