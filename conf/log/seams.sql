-- Each ledger that holds entries, with what the one before it on its topic ended with, and what all before reached.
-- Those that were not scanned have nulls. Indexes farther than $farthest count as that, so that differences are numbers.
WITH known AS (
  SELECT topic, ledger_id, expected_entries, unix_millis(closed_time) AS closed_ms
  FROM ledgers
  WHERE selected AND topic IS NOT NULL

  UNION ALL

  SELECT topic, ledger_id, CAST(NULL AS bigint) AS expected_entries, CAST(NULL AS bigint) AS closed_ms
  FROM absent
),

holding AS (
  SELECT topic, ledger_id, max(expected_entries) AS expected_entries, max(closed_ms) AS closed_ms
  FROM known
  WHERE coalesce(expected_entries > 0, TRUE)
  GROUP BY topic, ledger_id
),

orders AS (
  SELECT
    topic, ledger_id, steps, first_entry_id, last_entry_id, first_messages, first_has_metadata, last_has_metadata,
    first_broker_ms, last_broker_ms, newest_publish_ms, oldest_publish, latest, earliest,
    CASE WHEN first_index IS NOT NULL THEN greatest(least(first_index, $farthest), -$farthest) END AS first_index,
    CASE WHEN last_index IS NOT NULL THEN greatest(least(last_index, $farthest), -$farthest) END AS last_index
  FROM ledger_facts
  WHERE topic IS NOT NULL AND entries > 0
),

line AS (
  SELECT
    coalesce(h.topic, o.topic) AS topic,
    coalesce(h.ledger_id, o.ledger_id) AS ledger_id,
    coalesce(o.last_entry_id = h.expected_entries - 1, TRUE) AS is_whole,
    h.closed_ms, o.steps, o.first_entry_id, o.first_messages, o.first_has_metadata, o.last_has_metadata,
    o.first_broker_ms, o.last_broker_ms, o.newest_publish_ms, o.oldest_publish, o.latest, o.earliest, o.first_index,
    o.last_index
  FROM holding AS h
  FULL OUTER JOIN orders AS o ON h.topic = o.topic AND h.ledger_id = o.ledger_id
)

SELECT
  *,
  lag(last_index) OVER in_line AS index_before,
  lag(is_whole) OVER in_line AND first_entry_id = 0 AS adjoins,
  lag(last_has_metadata) OVER in_line AS metadata_before,
  max_by(last_broker_ms, CASE WHEN last_broker_ms IS NOT NULL THEN ledger_id END) OVER earlier AS broker_ms_before,
  max_by(last_index, CASE WHEN last_index IS NOT NULL THEN ledger_id END) OVER earlier AS last_index_before,
  max(newest_publish_ms) OVER earlier AS newest_publish_before,
  lag(closed_ms) OVER in_line AS began_ms
FROM line
WINDOW
  in_line AS (PARTITION BY topic ORDER BY ledger_id),
  earlier AS (PARTITION BY topic ORDER BY ledger_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
