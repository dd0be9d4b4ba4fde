-- The first chunk sets of each subscription that is drawn: what blocks it, then what is to be done, then the rest.
SELECT
  topic,
  subscription,
  chunk_uuid,
  publish_time_ms,
  code,
  kind,
  slice(unacked_positions, 1, $stalls) AS unacked_positions,
  unacked_entries,
  unacked_bytes,
  blocks_dispatch,
  action,
  sureness,
  reason,
  advice
FROM (
  SELECT
    s.*,
    row_number() OVER (
      PARTITION BY s.topic, s.subscription
      ORDER BY
        CASE WHEN s.blocks_dispatch THEN 0 WHEN s.action NOT IN ('wait', 'none') THEN 1 ELSE 2 END,
        CASE WHEN size(s.unacked_positions) > 0 THEN s.unacked.ledger_id ELSE s.first_chunk_ledger_id END,
        CASE WHEN size(s.unacked_positions) > 0 THEN s.unacked.entry_id ELSE s.first_chunk_entry_id END,
        s.chunk_uuid,
        s.publish_time_ms
    ) AS number
  FROM (SELECT *, try_element_at(unacked_positions, 1) AS unacked FROM stalls) AS s
  SEMI JOIN drawn AS d ON s.topic = d.topic AND s.subscription = d.subscription
) AS numbered
WHERE number <= $stalls
ORDER BY topic, subscription, number
