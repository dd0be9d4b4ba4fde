-- Made of conf/clients/overflows.sql (1ce867fc9e1b855f) by `make docs`; do not edit.
SELECT
  'C19' AS code,
  topic AS subject,
  topic,
  CAST(NULL AS BIGINT) AS ledger_id,
  CAST(NULL AS BIGINT) AS entry_id,
  CAST(MAX(peak_open_in_log) AS BIGINT) AS count,
  'likely' AS sureness,
  'counted by stored times; a consumer that catches up has them open for a shorter or longer time' AS reason,
  CAST(MAX(peak_open_in_log) AS TEXT) || ' chunked messages are open at one time: ' || ARRAY_TO_STRING(
    LIST_SORT(COALESCE(LIST(DISTINCT model || ' keeps ' || CAST(pending_limit AS TEXT)) FILTER (WHERE model || ' keeps ' || CAST(pending_limit AS TEXT) IS NOT NULL), []), 'ASC', 'NULLS LAST'),
    ', '
  ) || '.' AS message,
  COALESCE(LIST(DISTINCT CAST(NULL AS TEXT)) FILTER (WHERE CAST(NULL AS TEXT) IS NOT NULL), []) AS evidence,
  FALSE AS incomplete
FROM client_forecasts
WHERE
  peak_open_in_log > pending_limit
GROUP BY
  topic
