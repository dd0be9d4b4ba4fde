-- Messages that a producer sent once and the log holds twice or more, byte for byte, with what deduplication knew of the producer.
WITH stored AS (
  SELECT
    e.cluster,
    e.topic,
    e.producer_name,
    e.sequence_id,
    e.checksum,
    e.publish_time,
    e.payload_length,
    e.chunk_id,
    max(coalesce(e.highest_sequence_id, e.sequence_id)) AS highest_sequence_id,
    count(*) AS copies,
    coalesce(max(e.num_messages_in_batch), 1) AS messages,
    min_by(struct(e.ledger_id AS ledger_id, e.entry_id AS entry_id), (e.ledger_id, e.entry_id)) AS first,
    max_by(struct(e.ledger_id AS ledger_id, e.entry_id AS entry_id), (e.ledger_id, e.entry_id)) AS last
  FROM entries AS e
  WHERE
    e.marker_type IS NULL
    AND e.checksum IS NOT NULL
    AND e.checksum_state = 'valid'
    AND NOT EXISTS (SELECT 1 FROM gone_ledgers AS g WHERE e.cluster = g.cluster AND e.ledger_id = g.ledger_id)
  GROUP BY
    e.cluster, e.topic, e.producer_name, e.sequence_id, e.checksum, e.publish_time, e.payload_length, e.chunk_id
  HAVING count(*) > 1
)

SELECT
  s.topic,
  s.producer_name,
  s.sequence_id,
  s.chunk_id,
  s.publish_time,
  s.copies,
  s.messages,
  s.first.ledger_id AS first_ledger_id,
  s.first.entry_id AS first_entry_id,
  s.last.ledger_id AS last_ledger_id,
  s.last.entry_id AS last_entry_id,
  d.sequence_id AS deduplicated_up_to,
  d.position_ledger_id AS snapshot_ledger_id,
  d.position_entry_id AS snapshot_entry_id,
  CASE
    WHEN d.sequence_id IS NULL THEN 'not_deduplicated'
    WHEN s.chunk_id IS NULL AND d.sequence_id >= s.highest_sequence_id
      AND (
        s.last.ledger_id > d.position_ledger_id
        OR (s.last.ledger_id = d.position_ledger_id AND s.last.entry_id > d.position_entry_id)
      )
      THEN 'passed_deduplication'
    ELSE 'cannot_tell'
  END AS verdict,
  s.cluster
FROM stored AS s
LEFT JOIN deduplication_snapshots AS d
  ON s.cluster = d.cluster AND s.topic = d.topic AND s.producer_name = d.producer
ORDER BY s.cluster, s.topic, first_ledger_id, first_entry_id
