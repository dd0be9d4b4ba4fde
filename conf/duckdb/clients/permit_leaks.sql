-- Made of conf/clients/permit_leaks.sql (443bad36f727aa15) by `make docs`; do not edit.
SELECT
  $code AS code,
  topic AS subject,
  topic,
  CAST(NULL AS BIGINT) AS ledger_id,
  CAST(NULL AS BIGINT) AS entry_id,
  CAST(MAX(permits_kept) AS BIGINT) AS count,
  'likely' AS sureness,
  'counted from the beginning of the log, without a reconnect' AS reason,
  REPLACE(
    REPLACE($message, '{count}', CAST(MAX(permits_kept) AS TEXT)),
    '{models}',
    ARRAY_TO_STRING(
      LIST_SORT(COALESCE(LIST(DISTINCT REPLACE(
        REPLACE(
          REPLACE($of_model, '{model}', model),
          '{permits}',
          CAST(permits_kept AS TEXT)
        ),
        '{queue}',
        CAST(receiver_queue AS TEXT)
      )) FILTER (WHERE REPLACE(
        REPLACE(
          REPLACE($of_model, '{model}', model),
          '{permits}',
          CAST(permits_kept AS TEXT)
        ),
        '{queue}',
        CAST(receiver_queue AS TEXT)
      ) IS NOT NULL), []), 'ASC', 'NULLS LAST'),
      ', '
    )
  ) AS message,
  COALESCE(LIST(DISTINCT CAST(NULL AS TEXT)) FILTER (WHERE CAST(NULL AS TEXT) IS NOT NULL), []) AS evidence,
  FALSE AS incomplete
FROM client_forecasts
WHERE
  permits_kept * 2 >= receiver_queue
GROUP BY
  topic
