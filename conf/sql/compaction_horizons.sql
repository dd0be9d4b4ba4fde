-- Compacted ledgers by topic: how far each goes, and whether the one in force goes less far than one that was in force before.
WITH stored AS (
  SELECT topic, cluster, min(ledger_id) AS first_ledger_id
  FROM ledgers
  WHERE selected AND topic IS NOT NULL
  GROUP BY cluster, topic
),

used AS (
  SELECT DISTINCT cluster, topic, properties['CompactedTopicLedger'] AS compacted_ledger_id
  FROM cursor_states
  WHERE subscription = '__compaction'
),

farthest AS (
  SELECT
    c.*,
    coalesce(c.horizon_ledger_id, c.last_ledger_id) AS reach_ledger_id,
    CASE WHEN c.horizon_ledger_id IS NULL THEN c.last_entry_id ELSE c.horizon_entry_id END AS reach_entry_id
  FROM compacted_ledgers AS c
),

ranked AS (
  SELECT
    f.*,
    max(reach_ledger_id) OVER (PARTITION BY cluster, topic) AS farthest_ledger_id,
    max_by(reach_entry_id, (reach_ledger_id, reach_entry_id)) OVER (PARTITION BY cluster, topic) AS farthest_entry_id,
    max_by(ledger_id, (reach_ledger_id, reach_entry_id)) OVER (PARTITION BY cluster, topic) AS farthest_compacted_ledger_id
  FROM farthest AS f
)

SELECT
  r.topic,
  r.ledger_id,
  r.is_current,
  r.entries,
  r.reach_ledger_id,
  r.reach_entry_id,
  r.farthest_compacted_ledger_id,
  r.farthest_ledger_id,
  r.farthest_entry_id,
  s.first_ledger_id AS log_first_ledger_id,
  CASE
    WHEN r.topic IS NULL OR NOT coalesce(r.is_current, FALSE) OR r.reach_ledger_id IS NULL THEN 'cannot_tell'
    WHEN r.farthest_ledger_id < r.reach_ledger_id
      OR (r.farthest_ledger_id = r.reach_ledger_id AND r.farthest_entry_id <= r.reach_entry_id) THEN 'ok'
    WHEN u.compacted_ledger_id IS NULL THEN 'farther_unused'
    WHEN s.first_ledger_id > r.reach_ledger_id THEN 'moved_back_past_log'
    ELSE 'moved_back'
  END AS verdict,
  r.cluster
FROM ranked AS r
LEFT JOIN stored AS s ON r.cluster = s.cluster AND r.topic = s.topic
LEFT JOIN used AS u
  ON r.cluster = u.cluster AND r.topic = u.topic AND r.farthest_compacted_ledger_id = u.compacted_ledger_id
ORDER BY r.cluster, r.topic, r.ledger_id
