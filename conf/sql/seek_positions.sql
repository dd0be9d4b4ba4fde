-- Where to seek for each stored entry: the first chunk of the copy of the message it belongs to, or the entry itself.
WITH further AS (
  -- Whole copies after the first one: each runs from a chunk 0 to the next, and has its own message id.
  SELECT
    *,
    max(struct(ledger_id, entry_id))
      OVER (PARTITION BY cluster, topic, chunk_uuid, publish_time_ms, first_chunk) AS last_chunk
  FROM (
    SELECT
      *,
      max(if(chunk_id = 0, struct(ledger_id, entry_id), NULL))
        OVER (PARTITION BY cluster, topic, chunk_uuid, publish_time_ms ORDER BY ledger_id, entry_id) AS first_chunk
    FROM chunks
    WHERE role = 'duplicate'
  )
),

messages AS (
  -- Clients join incomplete publications of one uuid where the chunk ids go on; the mixture is one message to them.
  SELECT
    *,
    if(is_mixed, min(if(is_mixed, struct(first_ledger_id, first_entry_id), NULL)) OVER of_uuid,
      struct(first_ledger_id, first_entry_id)) AS begins,
    if(is_mixed, max(if(is_mixed, struct(last_ledger_id, last_entry_id), NULL)) OVER of_uuid,
      struct(last_ledger_id, last_entry_id)) AS ends
  FROM (
    SELECT
      *,
      array_contains(flags, 'mixed_with_another_publication') AND state NOT IN ('whole', 'out_of_order') AS is_mixed
    FROM chunked_messages
    WHERE num_chunks > 1
  )
  WINDOW of_uuid AS (PARTITION BY cluster, topic, chunk_uuid)
),

placed AS (
  SELECT
    c.*,
    m.state,
    m.rebuildable,
    m.sureness,
    -- What is repeated before the message is complete makes no copy of its own.
    coalesce(a.first_chunk > struct(m.last_ledger_id, m.last_entry_id), FALSE) AS is_further_copy,
    m.is_mixed,
    struct(m.begins.first_ledger_id AS ledger_id, m.begins.first_entry_id AS entry_id) AS message_first,
    struct(m.ends.last_ledger_id AS ledger_id, m.ends.last_entry_id AS entry_id) AS message_last,
    a.first_chunk,
    a.last_chunk
  FROM chunks AS c
  INNER JOIN messages AS m
    ON
      c.cluster = m.cluster
      AND c.topic = m.topic
      AND c.chunk_uuid = m.chunk_uuid
      AND c.publish_time_ms = m.publish_time_ms
  LEFT JOIN further AS a
    ON c.cluster = a.cluster AND c.topic = a.topic AND c.ledger_id = a.ledger_id AND c.entry_id = a.entry_id
)

SELECT
  e.topic,
  e.ledger_id,
  e.entry_id,
  coalesce(if(c.is_further_copy, c.first_chunk, c.message_first).ledger_id, e.ledger_id) AS seek_ledger_id,
  coalesce(if(c.is_further_copy, c.first_chunk, c.message_first).entry_id, e.entry_id) AS seek_entry_id,
  if(c.is_further_copy, c.last_chunk, c.message_last).ledger_id AS message_ledger_id,
  if(c.is_further_copy, c.last_chunk, c.message_last).entry_id AS message_entry_id,
  try_subtract(e.`index`, coalesce(e.num_messages_in_batch, 1) - 1L) AS first_index,
  e.`index` AS last_index,
  e.num_messages_in_batch,
  e.publish_time,
  e.broker_timestamp,
  e.marker_type,
  e.uuid AS chunk_uuid,
  e.chunk_id,
  e.num_chunks_from_msg AS num_chunks,
  c.role,
  coalesce(c.is_further_copy, FALSE) AS is_further_copy,
  coalesce(c.is_mixed, FALSE) AS is_mixed,
  c.state,
  c.rebuildable,
  c.sureness,
  e.cluster
FROM entries AS e
LEFT JOIN placed AS c
  ON e.cluster = c.cluster AND e.topic = c.topic AND e.ledger_id = c.ledger_id AND e.entry_id = c.entry_id
ORDER BY e.cluster, e.topic, e.ledger_id, e.entry_id
