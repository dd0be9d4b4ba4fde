-- Keyed chunked messages that lie wholly before a topic's compaction horizon: of them the compacted topic keeps the last chunk only.
SELECT
  $cluster AS cluster,
  m.topic,
  $subscription AS subscription,
  CAST(NULL AS string) AS subscription_type,
  m.chunk_uuid,
  m.publish_time,
  m.publish_time_ms,
  $code AS code,
  $kind AS kind,
  CAST(array() AS array<string>) AS also,
  m.state,
  CAST(array() AS array<struct<ledger_id:bigint, entry_id:bigint>>) AS unacked_positions,
  CAST(0 AS bigint) AS unacked_entries,
  CAST(0 AS bigint) AS unacked_bytes,
  CAST(m.copies AS bigint) AS acked_entries,
  TRUE AS acked_chunk_zero,
  FALSE AS can_complete,
  m.rebuildable,
  FALSE AS blocks_dispatch,
  $action AS action,
  m.first_ledger_id AS first_chunk_ledger_id,
  m.first_entry_id AS first_chunk_entry_id,
  m.last_ledger_id,
  m.last_entry_id,
  'likely' AS sureness,
  $reason AS reason,
  $advice AS advice
FROM chunked_messages AS m
INNER JOIN horizons AS h ON m.topic = h.topic
WHERE
  m.state = 'whole'
  AND m.num_chunks > 1
  AND (m.last_ledger_id < h.ledger_id OR (m.last_ledger_id = h.ledger_id AND m.last_entry_id <= h.entry_id))
  AND EXISTS (
    SELECT 1
    FROM noted_entries AS n
    WHERE n.has_key AND n.topic = m.topic AND n.ledger_id = m.first_ledger_id AND n.entry_id = m.first_entry_id
  )
