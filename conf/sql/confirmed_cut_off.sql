-- Entries behind the recorded end of a ledger that were surely or likely confirmed, and whether the topic's log holds the message elsewhere.
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
  min_by(e.ledger_id, (e.ledger_id, e.entry_id)) AS stored_again_ledger_id,
  min_by(e.entry_id, (e.ledger_id, e.entry_id)) AS stored_again_entry_id,
  CASE WHEN count(e.entry_id) > 0 THEN 'stored_again' ELSE 'missing' END AS verdict,
  c.uri,
  c.offset,
  c.length,
  c.cluster
FROM cut_off_entries AS c
LEFT JOIN (
  SELECT n.*
  FROM entries AS n
  WHERE NOT EXISTS (SELECT 1 FROM gone_ledgers AS g WHERE n.cluster = g.cluster AND n.ledger_id = g.ledger_id)
) AS e
  ON c.cluster = e.cluster AND c.topic = e.topic AND c.producer_name = e.producer_name
    AND c.sequence_id = e.sequence_id AND c.checksum = e.checksum
WHERE c.grade IN ('certain', 'likely') AND c.producer_name IS NOT NULL
GROUP BY
  c.cluster, c.topic, c.ledger_id, c.entry_id, c.end_entries, c.grade, c.reason, c.producer_name, c.sequence_id,
  c.publish_time, c.messages, c.bookies, c.ack_quorum, c.uri, c.offset, c.length
ORDER BY c.cluster, c.topic, c.ledger_id, c.entry_id
