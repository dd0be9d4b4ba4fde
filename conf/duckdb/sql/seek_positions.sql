-- Made of conf/sql/seek_positions.sql (e51ace69e1773477) by `make docs`; do not edit.
WITH further AS (
  SELECT
    cluster,
    topic,
    ledger_id,
    entry_id,
    FIRST_VALUE(ledger_id) OVER of_copy AS first_ledger_id,
    FIRST_VALUE(entry_id) OVER of_copy AS first_entry_id,
    LAST_VALUE(ledger_id) OVER of_copy AS last_ledger_id,
    LAST_VALUE(entry_id) OVER of_copy AS last_entry_id
  FROM (
    SELECT
      *,
      COUNT(CASE WHEN chunk_id = 0 THEN 1 END) OVER (
        PARTITION BY cluster, topic, chunk_uuid, publish_time_ms
        ORDER BY ledger_id, entry_id
      ) AS nth_copy
    FROM chunks
    WHERE
      role = 'duplicate'
  ) AS counted
  WHERE
    nth_copy > 0
  WINDOW of_copy AS (
    PARTITION BY cluster, topic, chunk_uuid, publish_time_ms, nth_copy
    ORDER BY ledger_id, entry_id
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
  )
), messages AS (
  SELECT
    *,
    CASE
      WHEN is_mixed
      THEN FIRST_VALUE(first_ledger_id) OVER by_first
      ELSE first_ledger_id
    END AS begin_ledger_id,
    CASE
      WHEN is_mixed
      THEN FIRST_VALUE(first_entry_id) OVER by_first
      ELSE first_entry_id
    END AS begin_entry_id,
    CASE
      WHEN is_mixed
      THEN FIRST_VALUE(last_ledger_id) OVER by_last
      ELSE last_ledger_id
    END AS end_ledger_id,
    CASE
      WHEN is_mixed
      THEN FIRST_VALUE(last_entry_id) OVER by_last
      ELSE last_entry_id
    END AS end_entry_id
  FROM (
    SELECT
      *,
      ARRAY_CONTAINS(flags, 'mixed_with_another_publication')
      AND NOT state IN ('whole', 'out_of_order') AS is_mixed
    FROM chunked_messages
    WHERE
      num_chunks > 1
  ) AS flagged
  WINDOW by_first AS (
    PARTITION BY cluster, topic, chunk_uuid, is_mixed
    ORDER BY first_ledger_id, first_entry_id
  ), by_last AS (
    PARTITION BY cluster, topic, chunk_uuid, is_mixed
    ORDER BY last_ledger_id DESC, last_entry_id DESC
  )
), joined AS (
  SELECT
    c.cluster,
    c.topic,
    c.ledger_id,
    c.entry_id,
    c.role,
    m.state,
    m.rebuildable,
    m.sureness,
    m.is_mixed,
    m.begin_ledger_id,
    m.begin_entry_id,
    m.end_ledger_id,
    m.end_entry_id,
    a.first_ledger_id,
    a.first_entry_id,
    a.last_ledger_id,
    a.last_entry_id,
    COALESCE(
      a.first_ledger_id > m.last_ledger_id
      OR (
        a.first_ledger_id = m.last_ledger_id AND a.first_entry_id > m.last_entry_id
      ),
      FALSE
    ) AS is_further_copy
  FROM chunks AS c
  INNER JOIN messages AS m
    ON c.cluster = m.cluster
    AND c.topic = m.topic
    AND c.chunk_uuid = m.chunk_uuid
    AND c.publish_time_ms = m.publish_time_ms
  LEFT JOIN further AS a
    ON c.cluster = a.cluster
    AND c.topic = a.topic
    AND c.ledger_id = a.ledger_id
    AND c.entry_id = a.entry_id
)
SELECT
  e.topic,
  e.ledger_id,
  e.entry_id,
  COALESCE(
    CASE WHEN j.is_further_copy THEN j.first_ledger_id ELSE j.begin_ledger_id END,
    e.ledger_id
  ) AS seek_ledger_id,
  COALESCE(
    CASE WHEN j.is_further_copy THEN j.first_entry_id ELSE j.begin_entry_id END,
    e.entry_id
  ) AS seek_entry_id,
  CASE WHEN j.is_further_copy THEN j.last_ledger_id ELSE j.end_ledger_id END AS message_ledger_id,
  CASE WHEN j.is_further_copy THEN j.last_entry_id ELSE j.end_entry_id END AS message_entry_id,
  TRY_CAST(TRUNC(CAST(e.index AS DECIMAL(20, 0)) - COALESCE(e.num_messages_in_batch, 1) + 1) AS BIGINT) AS first_index,
  e.index AS last_index,
  e.num_messages_in_batch,
  e.publish_time,
  e.broker_timestamp,
  e.marker_type,
  e.uuid AS chunk_uuid,
  e.chunk_id,
  e.num_chunks_from_msg AS num_chunks,
  j.role,
  COALESCE(j.is_further_copy, FALSE) AS is_further_copy,
  COALESCE(j.is_mixed, FALSE) AS is_mixed,
  j.state,
  j.rebuildable,
  j.sureness,
  e.cluster
FROM entries AS e
LEFT JOIN joined AS j
  ON e.cluster = j.cluster
  AND e.topic = j.topic
  AND e.ledger_id = j.ledger_id
  AND e.entry_id = j.entry_id
WHERE
  NOT EXISTS(SELECT
    1
  FROM gone_ledgers AS g
  WHERE
    e.cluster = g.cluster AND e.ledger_id = g.ledger_id)
ORDER BY
  e.cluster,
  e.topic,
  e.ledger_id,
  e.entry_id
