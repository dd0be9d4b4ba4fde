-- Made of conf/chunks/sequence_inversions.sql (3971e2797242ecd5) by `make docs`; do not edit.
WITH completed AS (
  SELECT
    topic,
    producer_name,
    sequence_id,
    publish_time_ms,
    first_ledger_id,
    first_entry_id,
    last_ledger_id,
    last_entry_id,
    (sequence_id, last_ledger_id, last_entry_id) AS place
  FROM chunked_messages
  WHERE
    state = 'whole'
), ordered AS (
  SELECT
    topic,
    sequence_id,
    publish_time_ms,
    first_ledger_id,
    first_entry_id,
    MAX(sequence_id) OVER earlier AS top_sequence_id,
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
