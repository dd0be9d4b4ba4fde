-- Snapshots for replicated subscriptions by the markers in a topic's log: what its own cluster asked for, what others answered, what was completed.
WITH markers AS (
  SELECT cluster, topic, marker_type, replicated_from, publish_time, ledger_id, entry_id
  FROM entries AS n
  WHERE
    marker_type BETWEEN 10 AND 13
    AND topic IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM gone_ledgers AS g WHERE n.cluster = g.cluster AND n.ledger_id = g.ledger_id)
),

completed AS (
  SELECT
    cluster,
    topic,
    max(publish_time) AS last_snapshot_time,
    max(struct(ledger_id, entry_id)) AS last_snapshot
  FROM markers
  WHERE marker_type = 12
  GROUP BY cluster, topic
),

counts AS (
  SELECT
    m.cluster,
    m.topic,
    c.last_snapshot_time,
    c.last_snapshot.ledger_id AS last_snapshot_ledger_id,
    c.last_snapshot.entry_id AS last_snapshot_entry_id,
    CAST(count(CASE WHEN m.marker_type = 10 AND m.replicated_from IS NULL THEN 1 END) AS bigint) AS own_requests,
    CAST(count(CASE WHEN m.marker_type = 11 AND m.replicated_from IS NOT NULL THEN 1 END) AS bigint) AS answers,
    CAST(count(CASE WHEN m.marker_type = 12 THEN 1 END) AS bigint) AS snapshots,
    CAST(count(CASE WHEN m.marker_type = 13 THEN 1 END) AS bigint) AS updates,
    max(CASE WHEN m.marker_type = 10 AND m.replicated_from IS NULL THEN m.publish_time END) AS last_request_time,
    CAST(count(CASE
      WHEN m.marker_type = 10 AND m.replicated_from IS NULL
        AND (c.last_snapshot IS NULL OR struct(m.ledger_id, m.entry_id) > c.last_snapshot)
        THEN 1
    END) AS bigint) AS requests_since
  FROM markers AS m
  LEFT JOIN completed AS c ON m.cluster = c.cluster AND m.topic = c.topic
  GROUP BY m.cluster, m.topic, c.last_snapshot_time, c.last_snapshot
)

SELECT
  topic,
  CASE
    WHEN own_requests = 0 THEN 'of_others'
    WHEN requests_since >= 3
      AND (last_snapshot_time IS NULL OR last_request_time > last_snapshot_time + INTERVAL 2 MINUTE)
      THEN 'unanswered'
    WHEN snapshots > 0 THEN 'ok'
    ELSE 'cannot_tell'
  END AS verdict,
  own_requests,
  answers,
  snapshots,
  updates,
  requests_since,
  last_request_time,
  last_snapshot_time,
  last_snapshot_ledger_id,
  last_snapshot_entry_id,
  cluster
FROM counts
ORDER BY requests_since DESC, cluster, topic
