-- Made of conf/report/stalls.sql (a63ddcd416aad2a6) by `make docs`; do not edit.
SELECT
  topic,
  subscription,
  chunk_uuid,
  publish_time_ms,
  code,
  kind,
  ARRAY_SLICE(unacked_positions, 1, (
    1 + CAST(TRUNC($stalls) AS BIGINT)
  ) - 1) AS unacked_positions,
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
    COALESCE(f.arrives, s.state = 'in_flight') AS arrives,
    COALESCE(f.unverifiable, s.state = 'malformed') AS unverifiable,
    COALESCE(f.complete, s.rebuildable) AS complete,
    COALESCE(f.doubt, $most_doubt) AS doubt,
    ROW_NUMBER() OVER (
      PARTITION BY s.topic, s.subscription
      ORDER BY CASE
        WHEN s.blocks_dispatch
        THEN 0
        WHEN NOT s.action IN ('wait', 'none')
        THEN 1
        ELSE 2
      END, s.ledger_id, s.entry_id, s.chunk_uuid, s.publish_time_ms
    ) AS number
  FROM sets AS s
  SEMI JOIN drawn AS d
    ON s.topic = d.topic AND s.subscription = d.subscription
  LEFT JOIN families AS f
    ON s.topic = f.topic AND s.chunk_uuid = f.chunk_uuid
) AS numbered
WHERE
  number <= $stalls
ORDER BY
  topic,
  subscription,
  number
