-- Made of conf/sql/confirmed_cut_off.sql (db9fb6d6134a941f) by `make docs`; do not edit.
WITH living AS (
  SELECT
    n.cluster,
    n.topic,
    n.ledger_id,
    n.entry_id,
    n.producer_name,
    n.sequence_id,
    n.checksum,
    n.payload_length,
    n.properties['pulsar-backlog.original-producer'] AS of_producer,
    n.properties['pulsar-backlog.original-id'] AS of_id
  FROM entries AS n
  WHERE
    NOT EXISTS(SELECT
      1
    FROM gone_ledgers AS g
    WHERE
      n.cluster = g.cluster AND n.ledger_id = g.ledger_id)
), elsewhere AS (
  SELECT
    b.cluster,
    b.ledger_id,
    b.entry_id,
    e.ledger_id AS at_ledger_id,
    e.entry_id AS at_entry_id,
    TRUE AS is_original
  FROM cut_off_entries AS b
  JOIN living AS e
    ON b.cluster = e.cluster
    AND b.topic = e.topic
    AND b.producer_name = e.producer_name
    AND b.sequence_id = e.sequence_id
    AND b.checksum = e.checksum
  UNION ALL
  SELECT
    b.cluster,
    b.ledger_id,
    b.entry_id,
    e.ledger_id AS at_ledger_id,
    e.entry_id AS at_entry_id,
    FALSE AS is_original
  FROM cut_off_entries AS b
  JOIN living AS e
    ON b.cluster = e.cluster
    AND b.topic = e.topic
    AND b.producer_name = e.of_producer
    AND b.payload_length = e.payload_length
    AND CAST(b.ledger_id AS TEXT) || ':' || CAST(b.entry_id AS TEXT) = e.of_id
)
SELECT
  c.topic,
  c.ledger_id,
  c.entry_id,
  c.end_entries,
  c.grade,
  c.reason,
  c.producer_name,
  c.sequence_id,
  c.publish_time,
  c.messages,
  c.bookies,
  c.ack_quorum,
  ARG_MIN_NULL(e.at_ledger_id, (e.at_ledger_id, e.at_entry_id)) AS stored_again_ledger_id,
  ARG_MIN_NULL(e.at_entry_id, (e.at_ledger_id, e.at_entry_id)) AS stored_again_entry_id,
  CASE
    WHEN COUNT(e.at_entry_id) = 0
    THEN 'missing'
    WHEN BOOL_OR(CAST(e.is_original AS BOOLEAN))
    THEN 'stored_again'
    ELSE 'republished'
  END AS verdict,
  c.uri,
  c."offset",
  c.length,
  c.hindrance,
  c.cluster
FROM cut_off_entries AS c
LEFT JOIN elsewhere AS e
  ON c.cluster = e.cluster AND c.ledger_id = e.ledger_id AND c.entry_id = e.entry_id
WHERE
  c.grade IN ('certain', 'likely') AND NOT c.producer_name IS NULL
GROUP BY
  c.cluster,
  c.topic,
  c.ledger_id,
  c.entry_id,
  c.end_entries,
  c.grade,
  c.reason,
  c.producer_name,
  c.sequence_id,
  c.publish_time,
  c.messages,
  c.bookies,
  c.ack_quorum,
  c.uri,
  c."offset",
  c.length,
  c.hindrance
ORDER BY
  c.cluster,
  c.topic,
  c.ledger_id,
  c.entry_id
