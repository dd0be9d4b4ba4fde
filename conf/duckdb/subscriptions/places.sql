-- Made of conf/subscriptions/places.sql (15eecaebd151b450) by `make docs`; do not edit.
SELECT
  topic,
  ledger_id,
  entry_id,
  sureness,
  reason,
  code
FROM (
  SELECT DISTINCT
    topic,
    subscription,
    chunk_uuid,
    publish_time_ms,
    ledger_id,
    entry_id,
    sureness,
    reason,
    $code AS code
  FROM (
    SELECT
      *,
      UNNEST(kinds) AS one
    FROM (
      SELECT
        topic,
        subscription,
        chunk_uuid,
        publish_time_ms,
        sureness,
        reason,
        CASE WHEN also IS NULL THEN NULL ELSE LIST_APPEND(also, kind) END AS kinds,
        COALESCE(unacked_positions[1].ledger_id, first_chunk_ledger_id) AS ledger_id,
        COALESCE(unacked_positions[1].entry_id, first_chunk_entry_id) AS entry_id
      FROM new_stalls
    ) AS placed
  ) AS each
) AS coded
WHERE
  NOT code IS NULL
UNION ALL
SELECT
  topic,
  ledger_id,
  first_entry_id AS entry_id,
  'certain' AS sureness,
  'compared with the stored batch' AS reason,
  'K12' AS code
FROM acks
WHERE
  impossible
