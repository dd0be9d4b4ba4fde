-- What each publication shows by itself: a code for each flag and for its state; C01 where there is nothing to say.
WITH coded AS (
  SELECT *, $flag_code AS code
  FROM (
    SELECT topic, chunk_uuid, publish_time_ms, first_ledger_id, first_entry_id, sureness, reason, explode(flags) AS flag
    FROM chunked_messages
  ) AS flagged

  UNION ALL

  SELECT
    topic, chunk_uuid, publish_time_ms, first_ledger_id, first_entry_id, sureness, reason, '' AS flag,
    $state_code AS code
  FROM chunked_messages
  WHERE NOT array_contains(flags, $no_loss)

  UNION ALL

  SELECT
    topic, chunk_uuid, publish_time_ms, first_ledger_id, first_entry_id, sureness, reason, '' AS flag, 'C01' AS code
  FROM chunked_messages
  WHERE state = 'whole' AND (size(flags) = 0 OR (size(flags) = 1 AND array_contains(flags, 'ledger_span')))
)

SELECT topic, first_ledger_id AS ledger_id, first_entry_id AS entry_id, sureness, reason, code
FROM (
  SELECT DISTINCT topic, chunk_uuid, publish_time_ms, first_ledger_id, first_entry_id, sureness, reason, code
  FROM coded
  WHERE code IS NOT NULL
) AS once
