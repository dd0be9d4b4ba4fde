-- The chunk sets of each subscription by what decides what is to be done about them, counted.
SELECT
  s.topic,
  s.subscription,
  s.action,
  s.can_complete,
  coalesce(f.arrives, s.state = 'in_flight') AS arrives,
  coalesce(f.unverifiable, s.state = 'malformed') AS unverifiable,
  coalesce(f.complete, s.rebuildable) AS complete,
  coalesce(f.doubt, $most_doubt) AS doubt,
  count(*) AS sets,
  bool_or(s.blocks_dispatch) AS blocks
FROM stalls AS s
LEFT JOIN families AS f ON s.topic = f.topic AND s.chunk_uuid = f.chunk_uuid
GROUP BY s.topic, s.subscription, s.action, s.can_complete, s.state, s.rebuildable, f.arrives, f.unverifiable,
  f.complete, f.doubt
