-- How many messages a reader of each topic holds unfinished: the most, along the log, and over time.
-- A message is open from its first stored copy to its last one; one that lacks its end to the end of the log, but not
-- one that lacks a chunk before, which every client gives up where the next one comes. Its bytes count whole from the
-- start, because Java and C++ clients reserve them so. One whose publish time is no time counts along the log only.
-- One chunk opens nothing: its message is delivered at once. In the log, opening comes before closing.
WITH cut AS (
  SELECT
    topic, state, first_ledger_id, first_entry_id, last_ledger_id, last_entry_id, span_ms,
    greatest(total_bytes, 0) AS bytes,
    unix_millis(publish_time) AS sent_ms
  FROM chunked_messages
  WHERE num_chunks > 1 AND state != 'headless'
),

events AS (
  SELECT topic, first_ledger_id AS ledger_id, first_entry_id AS entry_id, 1 AS step, bytes, sent_ms AS time_ms
  FROM cut

  UNION ALL

  SELECT topic, last_ledger_id AS ledger_id, last_entry_id AS entry_id, -1 AS step, -bytes, sent_ms + span_ms AS time_ms
  FROM cut
  WHERE state IN ('whole', 'out_of_order', 'malformed', 'gap')
),

counted AS (
  SELECT
    topic,
    time_ms,
    CAST(sum(step) OVER so_far AS bigint) AS open_messages,
    CAST(sum(bytes) OVER so_far AS bigint) AS open_bytes,
    min(time_ms) OVER of_topic AS first_ms,
    greatest(ceil((max(time_ms) OVER of_topic - min(time_ms) OVER of_topic + 1) / $buckets), 1) AS width_ms
  FROM events
  WINDOW
    of_topic AS (PARTITION BY topic),
    so_far AS (
      PARTITION BY topic ORDER BY ledger_id, entry_id, step DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
),

timed AS (
  SELECT
    topic,
    timestamp_millis(CAST(floor((time_ms - first_ms) / width_ms) * width_ms + first_ms AS bigint)) AS time,
    max(open_messages) AS open_messages,
    max(open_bytes) AS open_bytes
  FROM counted
  GROUP BY topic, CAST(floor((time_ms - first_ms) / width_ms) * width_ms + first_ms AS bigint)
)

SELECT
  t.topic,
  coalesce(max(open_messages), 0) AS peak_open_messages,
  coalesce(max(open_bytes), 0) AS peak_open_bytes,
  -- A struct is ordered by its first field.
  array_sort(
    collect_list(
      CASE WHEN time IS NOT NULL THEN named_struct('time', time, 'open_messages', open_messages, 'open_bytes', open_bytes) END
    )
  ) AS open_over_time
FROM (SELECT DISTINCT topic FROM producers) AS t
LEFT JOIN timed AS o ON t.topic = o.topic
GROUP BY t.topic
