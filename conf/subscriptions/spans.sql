-- Spans of entries of the topics in `cursor_topics`: their sums, and lists of their entries where a state in `cuts` may cut through.
SELECT
  s.topic, s.ledger_id, s.first_entry_id, s.last_entry_id, s.entries, s.messages, s.bytes, s.first_publish_time_ms,
  s.first_broker_time_ms,
  CASE WHEN c.is_cut THEN s.entry_ids END AS entry_ids,
  CASE WHEN c.is_cut THEN s.lengths END AS lengths,
  CASE WHEN c.is_cut THEN s.message_counts END AS message_counts,
  CASE WHEN c.is_cut THEN s.publish_times_ms END AS publish_times_ms,
  CASE WHEN c.is_cut THEN s.broker_times_ms END AS broker_times_ms
FROM entry_spans AS s
LEFT JOIN (
  SELECT DISTINCT e.topic, e.ledger_id, e.first_entry_id, TRUE AS is_cut
  FROM (SELECT topic, ledger_id, first_entry_id, last_entry_id FROM entry_spans) AS e
  INNER JOIN cuts AS p
    ON e.topic = p.topic AND e.ledger_id = p.ledger_id AND e.first_entry_id <= p.last_id AND e.last_entry_id >= p.first_id
) AS c
  ON s.topic = c.topic AND s.ledger_id = c.ledger_id AND s.first_entry_id = c.first_entry_id
WHERE s.topic IN (SELECT topic FROM cursor_topics)
