-- Made of conf/scan/entry_findings.sql (44b3490377df6a48) by `make docs`; do not edit.
WITH numbered AS (
  SELECT
    topic,
    ledger_id,
    odd.code,
    odd.count,
    odd.entry_ids,
    ROW_NUMBER() OVER (PARTITION BY topic, odd.code ORDER BY ledger_id, odd.entry_ids) AS number
  FROM (
    SELECT
      topic,
      ledger_id,
      UNNEST(odd) AS odd
    FROM ledger_facts
  ) AS each_code
), places AS (
  SELECT
    topic,
    code,
    count,
    ledger_id,
    entry_id,
    CAST(ledger_id AS TEXT) || ':' || CAST(entry_id AS TEXT) AS place,
    ROW_NUMBER() OVER (PARTITION BY topic, code ORDER BY number, entry_id) AS nth,
    ROW_NUMBER() OVER (PARTITION BY topic, code, number ORDER BY entry_id) AS nth_of_ledger
  FROM (
    SELECT
      topic,
      code,
      count,
      ledger_id,
      number,
      UNNEST(entry_ids) AS entry_id
    FROM numbered
  ) AS each_entry
)
SELECT
  code,
  COALESCE(topic, 'topic unknown') AS subject,
  topic,
  ARG_MIN_NULL(ledger_id, nth) AS ledger_id,
  ARG_MIN_NULL(entry_id, nth) AS entry_id,
  CAST(SUM(CASE WHEN nth_of_ledger = 1 THEN count ELSE 0 END) AS BIGINT) AS count,
  'certain' AS sureness,
  'read from the stored bytes' AS reason,
  $counted || ': ' || CAST(CAST(SUM(CASE WHEN nth_of_ledger = 1 THEN count ELSE 0 END) AS BIGINT) AS TEXT) || '.' AS message,
  LIST_TRANSFORM(LIST_SORT(COALESCE(LIST({'at': nth, 'value': place}) FILTER (WHERE nth <= $max_evidence), []), 'ASC', 'NULLS LAST'), LAMBDA one : one.value) AS evidence,
  FALSE AS incomplete
FROM places
GROUP BY
  topic,
  code
