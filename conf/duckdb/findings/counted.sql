-- Made of conf/findings/counted.sql (92775b71978b5302) by `make docs`; do not edit.
SELECT
  code,
  COALESCE(topic, 'topic unknown') AS subject,
  topic,
  ARG_MIN(ledger_id, number) AS ledger_id,
  ARG_MIN(entry_id, number) AS entry_id,
  COUNT(*) AS count,
  ARG_MAX(sureness, (doubt, reason)) AS sureness,
  ARG_MAX(reason, (doubt, reason)) AS reason,
  $counted || ': ' || CAST(COUNT(*) AS TEXT) || '.' AS message,
  $evidence AS evidence,
  code IN ($incomplete) AS incomplete
FROM (
  SELECT
    *,
    $doubt AS doubt,
    CONCAT_WS(':', CAST(ledger_id AS TEXT), CAST(entry_id AS TEXT)) AS place,
    ROW_NUMBER() OVER (PARTITION BY topic, code ORDER BY ledger_id, entry_id) AS number
  FROM coded
  WHERE
    code IN ($codes)
) AS numbered
GROUP BY
  topic,
  code
