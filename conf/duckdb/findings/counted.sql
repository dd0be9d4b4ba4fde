-- Made of conf/findings/counted.sql (812392677f826363) by `make docs`; do not edit.
SELECT
  code,
  COALESCE(topic, 'topic unknown') AS subject,
  topic,
  ARG_MIN_NULL(ledger_id, number) AS ledger_id,
  ARG_MIN_NULL(entry_id, number) AS entry_id,
  COUNT(*) AS count,
  ARG_MAX_NULL(sureness, (doubt, reason)) AS sureness,
  ARG_MAX_NULL(reason, (doubt, reason)) AS reason,
  $counted || ': ' || CAST(COUNT(*) AS TEXT) || '.' AS message,
  LIST_TRANSFORM(LIST_SORT(COALESCE(LIST(DISTINCT {'at': number, 'value': place}) FILTER (WHERE number <= $max_evidence), []), 'ASC', 'NULLS LAST'), LAMBDA one : one.value) AS evidence,
  code IN ($incomplete) AS incomplete
FROM (
  SELECT
    *,
    $doubt AS doubt,
    CONCAT_WS(':', CAST(ledger_id AS TEXT), CAST(entry_id AS TEXT)) AS place,
    DENSE_RANK() OVER (PARTITION BY topic, code ORDER BY ledger_id, entry_id) AS number
  FROM coded
  WHERE
    code IN ($codes)
) AS numbered
GROUP BY
  topic,
  code
