-- Steps out of order: within each ledger, at its seam to the ones before, beyond its time; and clocks of producers.
WITH compared AS (
  SELECT
    topic, ledger_id, first_entry_id, adjoins,
    first_index - index_before - first_messages AS skipped,
    coalesce(first_messages, 1) - (first_index - last_index_before) AS repeated,
    first_has_metadata != metadata_before AS differs,
    broker_ms_before - first_broker_ms AS back_ms,
    newest_publish_before - oldest_publish.publish_ms AS late_ms,
    oldest_publish.entry_id AS oldest_entry_id,
    greatest(latest.seek_ms - closed_ms, began_ms - earliest.seek_ms) AS beyond_ms,
    CASE
      WHEN coalesce(latest.seek_ms - closed_ms, 0) >= coalesce(began_ms - earliest.seek_ms, 0) THEN latest.entry_id
      ELSE earliest.entry_id
    END AS beyond_entry_id
  FROM seams
)

SELECT topic, ledger_id, step.code, step.entry_ids, step.count, step.extent, 'certain' AS sureness
FROM (SELECT topic, ledger_id, explode(steps) AS step FROM seams) AS within

UNION ALL

SELECT topic, ledger_id, 'B01', array_repeat(first_entry_id, 1), 1, skipped, 'likely'
FROM compared
WHERE adjoins AND skipped > 0

UNION ALL

SELECT topic, ledger_id, 'B02', array_repeat(first_entry_id, 1), 1, repeated, 'certain'
FROM compared
WHERE repeated > 0

UNION ALL

SELECT topic, ledger_id, 'B03', array_repeat(first_entry_id, 1), 1, 0, 'certain'
FROM compared
WHERE differs

UNION ALL

SELECT topic, ledger_id, 'B04', array_repeat(first_entry_id, 1), 1, back_ms, 'certain'
FROM compared
WHERE back_ms > 0

UNION ALL

SELECT topic, ledger_id, 'B06', array_repeat(oldest_entry_id, 1), 1, late_ms, 'certain'
FROM compared
WHERE late_ms > $publish_tolerance_ms

UNION ALL

SELECT topic, ledger_id, 'B07', array_repeat(beyond_entry_id, 1), 1, beyond_ms, 'certain'
FROM compared
WHERE beyond_ms > $clock_tolerance_ms

UNION ALL

-- A message that waited in a queue looks as if its producer's clock were slow; the other way round nothing does.
SELECT
  topic, clock_ahead.ledger_id, 'B05', array_repeat(clock_ahead.entry_id, 1), 1, clock_ahead.ms,
  CASE WHEN clock_ahead.ms > 0 THEN 'certain' ELSE 'likely' END
FROM producers
WHERE abs(clock_ahead.ms) > $clock_tolerance_ms
