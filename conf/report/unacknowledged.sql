-- Entries that the subscriptions in `forecast_of` have not acknowledged, in order, and whether a forecast can play each.
SELECT
  r.topic,
  r.subscription,
  e.uuid,
  e.chunk_id,
  e.num_chunks_from_msg,
  e.partition_key,
  COALESCE(e.compression, 'NONE') != 'NONE' AS is_compressed,
  e.checksum_state != 'mismatch' AND e.txnid_most_bits IS NULL AND e.deliver_at_time IS NULL AS is_played
FROM entries AS e
INNER JOIN ack_ranges AS r
  ON e.topic = r.topic AND e.ledger_id = r.ledger_id AND e.entry_id BETWEEN r.first_entry_id AND r.last_entry_id
INNER JOIN forecast_of AS s ON r.topic = s.topic AND r.subscription = s.subscription
WHERE e.topic IN ($topics) AND e.marker_type IS NULL
ORDER BY r.topic, r.subscription, e.ledger_id, e.entry_id
