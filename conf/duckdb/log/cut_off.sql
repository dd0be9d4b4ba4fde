-- Made of conf/log/cut_off.sql (86df56732538dda5) by `make docs`; do not edit.
SELECT
  v.topic,
  v.ledger_id,
  v.entry_id,
  v.grade,
  v.reason,
  v.producer_name,
  v.sequence_id,
  CAST(COALESCE(EPOCH_MS(v.publish_time), 0) AS BIGINT) AS publish_time_ms,
  v.messages,
  v.uri,
  v."offset",
  v.length,
  b.checksum,
  b.payload_length,
  b.hindrance,
  b.batched,
  b.encrypted,
  COALESCE(l.last_ledger_id > v.ledger_id, FALSE) AS went_on
FROM confirmed_cut_off AS v
JOIN cut_off_entries AS b
  ON v.cluster = b.cluster AND v.ledger_id = b.ledger_id AND v.entry_id = b.entry_id
LEFT JOIN (
  SELECT
    cluster,
    topic,
    producer_name,
    MAX(ledger_id) AS last_ledger_id
  FROM entries
  WHERE
    properties['pulsar-backlog.original-id'] IS NULL
  GROUP BY
    cluster,
    topic,
    producer_name
) AS l
  ON v.cluster = l.cluster AND v.topic = l.topic AND v.producer_name = l.producer_name
WHERE
  v.verdict = 'missing' AND NOT v.topic IS NULL AND $wanted
ORDER BY
  v.topic,
  v.ledger_id,
  v.entry_id
LIMIT $limit
