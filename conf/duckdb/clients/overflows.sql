-- Made of conf/clients/overflows.sql (73ee9d338fbee58a) by `make docs`; do not edit.
SELECT
  $code AS code,
  topic AS subject,
  topic,
  CAST(NULL AS BIGINT) AS ledger_id,
  CAST(NULL AS BIGINT) AS entry_id,
  CAST(MAX(peak_open_in_log) AS BIGINT) AS count,
  'likely' AS sureness,
  'counted by stored times; a consumer that catches up has them open for a shorter or longer time' AS reason,
  REPLACE(
    REPLACE($message, '{count}', CAST(MAX(peak_open_in_log) AS TEXT)),
    '{models}',
    ARRAY_TO_STRING(
      LIST_SORT(COALESCE(LIST(DISTINCT REPLACE(
        REPLACE($of_model, '{model}', model),
        '{limit}',
        CAST(pending_limit AS TEXT)
      )) FILTER (WHERE REPLACE(
        REPLACE($of_model, '{model}', model),
        '{limit}',
        CAST(pending_limit AS TEXT)
      ) IS NOT NULL), []), 'ASC', 'NULLS LAST'),
      ', '
    )
  ) AS message,
  COALESCE(LIST(DISTINCT CAST(NULL AS TEXT)) FILTER (WHERE CAST(NULL AS TEXT) IS NOT NULL), []) AS evidence,
  FALSE AS incomplete
FROM client_forecasts
WHERE
  peak_open_in_log > pending_limit
GROUP BY
  topic
