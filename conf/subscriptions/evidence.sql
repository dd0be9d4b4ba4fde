-- By subscription what its stalls say of why it does not drain.
-- The first chunk without its first that blocks, messages whose last chunk clients drop with a permit, whole messages of which
-- only the last chunk is acknowledged, messages that mark-delete is inside of, and messages that may still be arriving.
SELECT
  topic,
  subscription,
  min_by(CASE WHEN blocks THEN place.ledger_id END, CASE WHEN blocks THEN place END) AS ledger_id,
  min_by(CASE WHEN blocks THEN place.entry_id END, CASE WHEN blocks THEN place END) AS entry_id,
  count(CASE WHEN state IN ('gap', 'headless') THEN 1 END) AS dropped,
  count(CASE WHEN state = 'whole' AND (kind = 'last_only' OR array_contains(also, 'last_only')) THEN 1 END) AS last_only,
  count(CASE WHEN kind = 'mark_delete_inside' OR array_contains(also, 'mark_delete_inside') THEN 1 END) AS inside,
  count(CASE WHEN state = 'in_flight' THEN 1 END) AS arriving
FROM (
  SELECT
    topic, subscription, kind, also, state,
    kind = 'shared_stall' AND blocks_dispatch AS blocks,
    try_element_at(unacked_positions, 1) AS place
  FROM new_stalls
) AS placed
GROUP BY topic, subscription
