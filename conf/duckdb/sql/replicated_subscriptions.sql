-- Made of conf/sql/replicated_subscriptions.sql (6678f8fd78bc995d) by `make docs`; do not edit.
WITH markers AS (
  SELECT
    cluster,
    topic,
    marker_type,
    replicated_from,
    publish_time,
    ledger_id,
    entry_id
  FROM entries AS n
  WHERE
    marker_type BETWEEN 10 AND 13
    AND NOT topic IS NULL
    AND NOT EXISTS(SELECT
      1
    FROM gone_ledgers AS g
    WHERE
      n.cluster = g.cluster AND n.ledger_id = g.ledger_id)
), completed AS (
  SELECT
    cluster,
    topic,
    MAX(publish_time) AS last_snapshot_time,
    MAX({'ledger_id': ledger_id, 'entry_id': entry_id}) AS last_snapshot
  FROM markers
  WHERE
    marker_type = 12
  GROUP BY
    cluster,
    topic
), counts AS (
  SELECT
    m.cluster,
    m.topic,
    c.last_snapshot_time,
    c.last_snapshot.ledger_id AS last_snapshot_ledger_id,
    c.last_snapshot.entry_id AS last_snapshot_entry_id,
    CAST(COUNT(CASE WHEN m.marker_type = 10 AND m.replicated_from IS NULL THEN 1 END) AS BIGINT) AS own_requests,
    CAST(COUNT(CASE WHEN m.marker_type = 11 AND NOT m.replicated_from IS NULL THEN 1 END) AS BIGINT) AS answers,
    CAST(COUNT(CASE WHEN m.marker_type = 12 THEN 1 END) AS BIGINT) AS snapshots,
    CAST(COUNT(CASE WHEN m.marker_type = 13 THEN 1 END) AS BIGINT) AS updates,
    MAX(
      CASE WHEN m.marker_type = 10 AND m.replicated_from IS NULL THEN m.publish_time END
    ) AS last_request_time,
    CAST(COUNT(
      CASE
        WHEN m.marker_type = 10
        AND m.replicated_from IS NULL
        AND (
          c.last_snapshot IS NULL
          OR {'ledger_id': m.ledger_id, 'entry_id': m.entry_id} > c.last_snapshot
        )
        THEN 1
      END
    ) AS BIGINT) AS requests_since
  FROM markers AS m
  LEFT JOIN completed AS c
    ON m.cluster = c.cluster AND m.topic = c.topic
  GROUP BY
    m.cluster,
    m.topic,
    c.last_snapshot_time,
    c.last_snapshot
)
SELECT
  topic,
  CASE
    WHEN own_requests = 0
    THEN 'of_others'
    WHEN requests_since >= 3
    AND (
      last_snapshot_time IS NULL
      OR last_request_time > last_snapshot_time + INTERVAL '2' MINUTE
    )
    THEN 'unanswered'
    WHEN snapshots > 0
    THEN 'ok'
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
ORDER BY
  requests_since DESC,
  cluster,
  topic
