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
  advice,
  can_complete,
  arrives,
  unverifiable,
  complete,
  doubt
FROM (
  SELECT
    s.*,
    coalesce(f.arrives, s.state = 'in_flight') AS arrives,
    coalesce(f.unverifiable, s.state = 'malformed') AS unverifiable,
    coalesce(f.complete, s.rebuildable) AS complete,
    coalesce(f.doubt, $most_doubt) AS doubt,
    row_number() OVER (
      PARTITION BY s.topic, s.subscription
      ORDER BY
        CASE WHEN s.blocks_dispatch THEN 0 WHEN s.action NOT IN ('wait', 'none') THEN 1 ELSE 2 END,
        s.ledger_id,
        s.entry_id,
        s.chunk_uuid,
        s.publish_time_ms
    ) AS number
  FROM sets AS s
  SEMI JOIN drawn AS d ON s.topic = d.topic AND s.subscription = d.subscription
  LEFT JOIN families AS f ON s.topic = f.topic AND s.chunk_uuid = f.chunk_uuid
) AS numbered
WHERE number <= $stalls
ORDER BY topic, subscription, number
