-- Made of conf/chunks/own_codes.sql (c84d489182f5026e) by `make docs`; do not edit.
WITH coded AS (
  SELECT
    *,
    $flag_code AS code
  FROM (
    SELECT
      topic,
      chunk_uuid,
      publish_time_ms,
      first_ledger_id,
      first_entry_id,
      sureness,
      reason,
      UNNEST(flags) AS flag
    FROM chunked_messages
  ) AS flagged
  UNION ALL
  SELECT
    topic,
    chunk_uuid,
    publish_time_ms,
    first_ledger_id,
    first_entry_id,
    sureness,
    reason,
    '' AS flag,
    $state_code AS code
  FROM chunked_messages
  WHERE
    NOT ARRAY_CONTAINS(flags, $no_loss)
  UNION ALL
  SELECT
    topic,
    chunk_uuid,
    publish_time_ms,
    first_ledger_id,
    first_entry_id,
    sureness,
    reason,
    '' AS flag,
    'C01' AS code
  FROM chunked_messages
  WHERE
    state = 'whole'
    AND (
      ARRAY_LENGTH(flags) = 0
      OR (
        ARRAY_LENGTH(flags) = 1 AND ARRAY_CONTAINS(flags, 'ledger_span')
      )
    )
)
SELECT
  topic,
  first_ledger_id AS ledger_id,
  first_entry_id AS entry_id,
  sureness,
  reason,
  code
FROM (
  SELECT DISTINCT
    topic,
    chunk_uuid,
    publish_time_ms,
    first_ledger_id,
    first_entry_id,
    sureness,
    reason,
    code
  FROM coded
  WHERE
    NOT code IS NULL
) AS once
