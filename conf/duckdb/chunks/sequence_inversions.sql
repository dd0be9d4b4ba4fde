-- Made of conf/chunks/sequence_inversions.sql (e0e7b662d79b9952) by `make docs`; do not edit.
WITH whole AS (
  SELECT
    topic,
    producer_name,
    sequence_id,
    publish_time_ms,
    first_ledger_id,
    first_entry_id,
    last_ledger_id,
    last_entry_id,
    MAX(sequence_id) OVER (
      PARTITION BY topic, producer_name
      ORDER BY last_ledger_id, last_entry_id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS top_sequence_id
  FROM chunked_messages
  WHERE
    state = 'whole'
), going_back AS (
  SELECT DISTINCT
    topic,
    producer_name
  FROM whole
  WHERE
    sequence_id < top_sequence_id
), completed AS (
  SELECT
    w.topic,
    w.producer_name,
    w.sequence_id,
    w.publish_time_ms,
    w.first_ledger_id,
    w.first_entry_id,
    w.last_ledger_id,
    w.last_entry_id,
    w.top_sequence_id,
    (w.sequence_id, w.last_ledger_id, w.last_entry_id) AS place
  FROM whole AS w
  INNER JOIN going_back AS b
    ON w.topic = b.topic AND w.producer_name = b.producer_name
), ordered AS (
  SELECT
    topic,
    sequence_id,
    publish_time_ms,
    first_ledger_id,
    first_entry_id,
    top_sequence_id,
    ARG_MAX_NULL(last_ledger_id, place) OVER earlier AS top_ledger_id,
    ARG_MAX_NULL(last_entry_id, place) OVER earlier AS top_entry_id,
    ARG_MAX_NULL(publish_time_ms, place) OVER earlier AS top_publish_time_ms,
    LEAD(sequence_id) OVER in_line AS next_sequence_id
  FROM completed
  WINDOW in_line AS (PARTITION BY topic, producer_name ORDER BY last_ledger_id, last_entry_id), earlier AS (
    PARTITION BY topic, producer_name
    ORDER BY last_ledger_id, last_entry_id
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  )
)
SELECT
  topic,
  first_ledger_id AS ledger_id,
  first_entry_id AS entry_id,
  'certain' AS sureness,
  'the positions show the order' AS reason,
  'C18' AS code
FROM ordered
WHERE
  sequence_id < top_sequence_id
  AND (
    (first_ledger_id, first_entry_id) < (top_ledger_id, top_entry_id)
    OR COALESCE(
      next_sequence_id > top_sequence_id AND publish_time_ms <= top_publish_time_ms,
      FALSE
    )
  )
