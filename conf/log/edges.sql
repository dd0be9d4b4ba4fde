-- What is known of the ends of each topic's log: a few numbers and its ledger ids.
WITH ends AS (
  SELECT
    p.topic,
    min(p.first_ms) AS begin_time_ms,
    max(p.last_ms) AS end_time_ms,
    max(p.last_entry) AS last_place,
    min(p.first) AS first_place
  FROM producer_facts AS p
  WHERE p.topic IS NOT NULL
  GROUP BY p.topic
),

books AS (
  -- Something was passed over, or not got to, within a scanned ledger; which ledgers were not read to their end; which
  -- hold damaged entries, or such without a checksum.
  SELECT
    s.topic,
    bool_or(
      s.rejected > 0 OR s.structure_faults > 0 OR NOT s.complete OR coalesce(s.frames < s.expected_entries, FALSE)
    ) AS has_rejects,
    collect_set(CASE WHEN NOT s.complete THEN s.ledger_id END) AS cut,
    collect_set(s.ledger_id) AS scanned,
    bool_or(s.checksum_mismatch + s.rejected > 0 OR s.checksum_absent > 0) AS is_hurt
  FROM scans AS s
  GROUP BY s.topic
),

stored AS (
  -- Of a live ledger: its last entry that was read, or told to be hidden. No row of `entries` shows a hidden one.
  SELECT
    l.topic,
    collect_set(CASE WHEN l.ledger_state = 'OPEN' THEN l.ledger_id END) AS open_ledgers,
    collect_set(l.ledger_id) AS stored,
    unix_millis(max(l.closed_time)) AS closed_ms,
    max(l.live_ledger_id) AS live_ledger_id,
    max_by(l.live_entries - 1, l.live_ledger_id) AS live_entry_id
  FROM (
    SELECT
      *,
      CASE WHEN kind = 'live' AND selected THEN ledger_id END AS live_ledger_id,
      try_cast(regexp_extract(copy, '^live-entries-([0-9]+)', 1) AS bigint) AS live_entries
    FROM ledgers
  ) AS l
  GROUP BY l.topic
),

gone AS (
  SELECT g.topic, collect_set(g.ledger_id) AS gone FROM gone_ledgers AS g WHERE g.scanned GROUP BY g.topic
)

SELECT
  e.topic,
  e.begin_time_ms,
  greatest(e.end_time_ms, s.closed_ms) AS end_time_ms,
  e.first_place.ledger_id AS first_ledger_id,
  coalesce(e.first_place.index = 0, FALSE) AS begins_at_start,
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
LEFT JOIN books AS b ON e.topic = b.topic
LEFT JOIN stored AS s ON e.topic = s.topic
LEFT JOIN gone AS g ON e.topic = g.topic
