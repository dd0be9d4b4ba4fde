-- Made of conf/log/steps.sql (97f055a9898d4b71) by `make docs`; do not edit.
WITH compared AS (
  SELECT
    topic,
    ledger_id,
    first_entry_id,
    adjoins,
    first_index - index_before - first_messages AS skipped,
    COALESCE(first_messages, 1) - (
      first_index - last_index_before
    ) AS repeated,
    first_has_metadata <> metadata_before AS differs,
    broker_ms_before - first_broker_ms AS back_ms,
    newest_publish_before - oldest_publish.publish_ms AS late_ms,
    oldest_publish.entry_id AS oldest_entry_id,
    GREATEST(latest.seek_ms - closed_ms, began_ms - earliest.seek_ms) AS beyond_ms,
    CASE
      WHEN COALESCE(latest.seek_ms - closed_ms, 0) >= COALESCE(began_ms - earliest.seek_ms, 0)
      THEN latest.entry_id
      ELSE earliest.entry_id
    END AS beyond_entry_id
  FROM seams
)
SELECT
  topic,
  ledger_id,
  step.code,
  step.entry_ids,
  step.count,
  step.extent,
  'certain' AS sureness
FROM (
  SELECT
    topic,
    ledger_id,
    UNNEST(steps) AS step
  FROM seams
) AS within
UNION ALL
SELECT
  topic,
  ledger_id,
  'B01',
  REPEAT([first_entry_id], 1),
  1,
  skipped,
  'likely'
FROM compared
WHERE
  adjoins AND skipped > 0
UNION ALL
SELECT
  topic,
  ledger_id,
  'B02',
  REPEAT([first_entry_id], 1),
  1,
  repeated,
  'certain'
FROM compared
WHERE
  repeated > 0
UNION ALL
SELECT
  topic,
  ledger_id,
  'B03',
  REPEAT([first_entry_id], 1),
  1,
  0,
  'certain'
FROM compared
WHERE
  differs
UNION ALL
SELECT
  topic,
  ledger_id,
  'B04',
  REPEAT([first_entry_id], 1),
  1,
  back_ms,
  'certain'
FROM compared
WHERE
  back_ms > 0
UNION ALL
SELECT
  topic,
  ledger_id,
  'B06',
  REPEAT([oldest_entry_id], 1),
  1,
  late_ms,
  'certain'
FROM compared
WHERE
  late_ms > $publish_tolerance_ms
UNION ALL
SELECT
  topic,
  ledger_id,
  'B07',
  REPEAT([beyond_entry_id], 1),
  1,
  beyond_ms,
  'certain'
FROM compared
WHERE
  beyond_ms > $clock_tolerance_ms
UNION ALL
SELECT
  topic,
  clock_ahead.ledger_id,
  'B05',
  REPEAT([clock_ahead.entry_id], 1),
  1,
  clock_ahead.ms,
  CASE WHEN clock_ahead.ms > 0 THEN 'certain' ELSE 'likely' END
FROM producers
WHERE
  ABS(clock_ahead.ms) > $clock_tolerance_ms
