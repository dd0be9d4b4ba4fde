-- Made of conf/chunks/open_messages.sql (0ae81ba02e6d83c0) by `make docs`; do not edit.
WITH cut AS (
  SELECT
    topic,
    state,
    first_ledger_id,
    first_entry_id,
    last_ledger_id,
    last_entry_id,
    span_ms,
    GREATEST(total_bytes, 0) AS bytes,
    EPOCH_MS(publish_time) AS sent_ms
  FROM chunked_messages
  WHERE
    num_chunks > 1 AND state <> 'headless'
), events AS (
  SELECT
    topic,
    first_ledger_id AS ledger_id,
    first_entry_id AS entry_id,
    1 AS step,
    bytes,
    sent_ms AS time_ms
  FROM cut
  UNION ALL
  SELECT
    topic,
    last_ledger_id AS ledger_id,
    last_entry_id AS entry_id,
    -1 AS step,
    -bytes,
    sent_ms + span_ms AS time_ms
  FROM cut
  WHERE
    state IN ('whole', 'out_of_order', 'malformed', 'gap')
), counted AS (
  SELECT
    topic,
    time_ms,
    CAST(TRUNC(SUM(step) OVER so_far) AS BIGINT) AS open_messages,
    CAST(TRUNC(SUM(bytes) OVER so_far) AS BIGINT) AS open_bytes,
    MIN(time_ms) OVER of_topic AS first_ms,
    GREATEST(
      CEIL(
        (
          MAX(time_ms) OVER of_topic - MIN(time_ms) OVER of_topic + 1
        ) / NULLIF($buckets, 0)
      ),
      1
    ) AS width_ms
  FROM events
  WINDOW of_topic AS (PARTITION BY topic), so_far AS (
    PARTITION BY topic
    ORDER BY ledger_id, entry_id, step DESC
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  )
), timed AS (
  SELECT
    topic,
    CAST(EPOCH_MS(CAST(CAST(TRUNC(FLOOR((
      time_ms - first_ms
    ) / NULLIF(width_ms, 0)) * width_ms + first_ms) AS BIGINT) AS BIGINT)) AS TIMESTAMPTZ) AS time,
    MAX(open_messages) AS open_messages,
    MAX(open_bytes) AS open_bytes
  FROM counted
  GROUP BY
    topic,
    CAST(TRUNC(FLOOR((
      time_ms - first_ms
    ) / NULLIF(width_ms, 0)) * width_ms + first_ms) AS BIGINT)
)
SELECT
  t.topic,
  COALESCE(MAX(open_messages), 0) AS peak_open_messages,
  COALESCE(MAX(open_bytes), 0) AS peak_open_bytes,
  LIST_SORT(COALESCE(LIST({'time': time, 'open_messages': open_messages, 'open_bytes': open_bytes}) FILTER (WHERE NOT time IS NULL), []), 'ASC', 'NULLS LAST') AS open_over_time
FROM (
  SELECT DISTINCT
    topic
  FROM producers
) AS t
LEFT JOIN timed AS o
  ON t.topic = o.topic
GROUP BY
  t.topic
