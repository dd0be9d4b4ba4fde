-- Made of conf/report/needs.sql (2bdfc3be718110ab) by `make docs`; do not edit.
SELECT
  s.topic,
  s.subscription,
  s.action,
  s.can_complete,
  COALESCE(f.arrives, s.state = 'in_flight') AS arrives,
  COALESCE(f.unverifiable, s.state = 'malformed') AS unverifiable,
  COALESCE(f.complete, s.rebuildable) AS complete,
  COALESCE(f.doubt, $most_doubt) AS doubt,
  COUNT(*) AS sets,
  BOOL_OR(CAST(s.blocks_dispatch AS BOOLEAN)) AS blocks
FROM stalls AS s
LEFT JOIN families AS f
  ON s.topic = f.topic AND s.chunk_uuid = f.chunk_uuid
GROUP BY
  s.topic,
  s.subscription,
  s.action,
  s.can_complete,
  s.state,
  s.rebuildable,
  f.arrives,
  f.unverifiable,
  f.complete,
  f.doubt
