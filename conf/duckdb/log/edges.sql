-- Made of conf/log/edges.sql (678b99971e733b6f) by `make docs`; do not edit.
WITH ends AS (
  SELECT
    p.topic,
    MIN(p.first_ms) AS begin_time_ms,
    MAX(p.last_ms) AS end_time_ms,
    MAX(p.last_entry) AS last_place,
    MIN(p.first) AS first_place
  FROM producer_facts AS p
  WHERE
    NOT p.topic IS NULL
  GROUP BY
    p.topic
), books AS (
  SELECT
    s.topic,
    BOOL_OR(
      CAST(s.rejected > 0
      OR s.structure_faults > 0
      OR NOT s.complete
      OR COALESCE(s.frames < s.expected_entries, FALSE) AS BOOLEAN)
    ) AS has_rejects,
    COALESCE(LIST(DISTINCT CASE WHEN NOT s.complete THEN s.ledger_id END) FILTER (WHERE CASE WHEN NOT s.complete THEN s.ledger_id END IS NOT NULL), []) AS cut,
    COALESCE(LIST(DISTINCT s.ledger_id) FILTER (WHERE s.ledger_id IS NOT NULL), []) AS scanned,
    BOOL_OR(CAST(s.checksum_mismatch + s.rejected > 0 OR s.checksum_absent > 0 AS BOOLEAN)) AS is_hurt
  FROM scans AS s
  GROUP BY
    s.topic
), stored AS (
  SELECT
    l.topic,
    COALESCE(LIST(DISTINCT CASE WHEN l.ledger_state = 'OPEN' THEN l.ledger_id END) FILTER (WHERE CASE WHEN l.ledger_state = 'OPEN' THEN l.ledger_id END IS NOT NULL), []) AS open_ledgers,
    COALESCE(LIST(DISTINCT l.ledger_id) FILTER (WHERE l.ledger_id IS NOT NULL), []) AS stored,
    EPOCH_MS(MAX(l.closed_time)) AS closed_ms,
    MAX(l.live_ledger_id) AS live_ledger_id,
    ARG_MAX_NULL(l.live_entries - 1, l.live_ledger_id) AS live_entry_id
  FROM (
    SELECT
      *,
      CASE WHEN kind = 'live' AND selected THEN ledger_id END AS live_ledger_id,
      TRY_CAST(REGEXP_EXTRACT(copy, '^live-entries-([0-9]+)', 1) AS BIGINT) AS live_entries
    FROM ledgers
  ) AS l
  GROUP BY
    l.topic
), gone AS (
  SELECT
    g.topic,
    COALESCE(LIST(DISTINCT g.ledger_id) FILTER (WHERE g.ledger_id IS NOT NULL), []) AS gone
  FROM gone_ledgers AS g
  WHERE
    g.scanned
  GROUP BY
    g.topic
)
SELECT
  e.topic,
  e.begin_time_ms,
  GREATEST(e.end_time_ms, s.closed_ms) AS end_time_ms,
  e.first_place.ledger_id AS first_ledger_id,
  COALESCE(e.first_place.index = 0, FALSE) AS begins_at_start,
  e.last_place.ledger_id AS last_ledger_id,
  e.last_place.entry_id AS last_entry_id,
  b.has_rejects,
  b.is_hurt,
  b.cut,
  b.scanned,
  s.stored,
  g.gone,
  s.open_ledgers,
  s.live_ledger_id,
  s.live_entry_id
FROM ends AS e
LEFT JOIN books AS b
  ON e.topic = b.topic
LEFT JOIN stored AS s
  ON e.topic = s.topic
LEFT JOIN gone AS g
  ON e.topic = g.topic
