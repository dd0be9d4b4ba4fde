-- Made of conf/log/seams.sql (a886a5a6d5709b26) by `make docs`; do not edit.
WITH known AS (
  SELECT
    topic,
    ledger_id,
    expected_entries,
    EPOCH_MS(closed_time) AS closed_ms
  FROM ledgers
  WHERE
    selected AND NOT topic IS NULL
  UNION ALL
  SELECT
    topic,
    ledger_id,
    CAST(NULL AS BIGINT) AS expected_entries,
    CAST(NULL AS BIGINT) AS closed_ms
  FROM absent
), holding AS (
  SELECT
    topic,
    ledger_id,
    MAX(expected_entries) AS expected_entries,
    MAX(closed_ms) AS closed_ms
  FROM known
  WHERE
    COALESCE(expected_entries > 0, TRUE)
  GROUP BY
    topic,
    ledger_id
), orders AS (
  SELECT
    topic,
    ledger_id,
    steps,
    first_entry_id,
    last_entry_id,
    first_messages,
    first_has_metadata,
    last_has_metadata,
    first_broker_ms,
    last_broker_ms,
    newest_publish_ms,
    oldest_publish,
    latest,
    earliest,
    CASE
      WHEN NOT first_index IS NULL
      THEN GREATEST(LEAST(first_index, $farthest), -$farthest)
    END AS first_index,
    CASE
      WHEN NOT last_index IS NULL
      THEN GREATEST(LEAST(last_index, $farthest), -$farthest)
    END AS last_index
  FROM ledger_facts
  WHERE
    NOT topic IS NULL AND entries > 0
), line AS (
  SELECT
    COALESCE(h.topic, o.topic) AS topic,
    COALESCE(h.ledger_id, o.ledger_id) AS ledger_id,
    COALESCE(o.last_entry_id = h.expected_entries - 1, TRUE) AS is_whole,
    h.closed_ms,
    o.steps,
    o.first_entry_id,
    o.first_messages,
    o.first_has_metadata,
    o.last_has_metadata,
    o.first_broker_ms,
    o.last_broker_ms,
    o.newest_publish_ms,
    o.oldest_publish,
    o.latest,
    o.earliest,
    o.first_index,
    o.last_index
  FROM holding AS h
  FULL OUTER JOIN orders AS o
    ON h.topic = o.topic AND h.ledger_id = o.ledger_id
)
SELECT
  *,
  LAG(last_index) OVER in_line AS index_before,
  LAG(is_whole) OVER in_line AND first_entry_id = 0 AS adjoins,
  LAG(last_has_metadata) OVER in_line AS metadata_before,
  ARG_MAX_NULL(last_broker_ms, CASE WHEN NOT last_broker_ms IS NULL THEN ledger_id END) OVER earlier AS broker_ms_before,
  ARG_MAX_NULL(last_index, CASE WHEN NOT last_index IS NULL THEN ledger_id END) OVER earlier AS last_index_before,
  MAX(newest_publish_ms) OVER earlier AS newest_publish_before,
  LAG(closed_ms) OVER in_line AS began_ms
FROM line
WINDOW in_line AS (PARTITION BY topic ORDER BY ledger_id), earlier AS (
  PARTITION BY topic
  ORDER BY ledger_id
  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
)
