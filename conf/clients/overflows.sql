-- C19: more messages open at one time, in the log, than a model keeps.
SELECT
  $code AS code,
  topic AS subject,
  topic,
  CAST(NULL AS bigint) AS ledger_id,
  CAST(NULL AS bigint) AS entry_id,
  CAST(max(peak_open_in_log) AS bigint) AS count,
  'likely' AS sureness,
  'counted by stored times; a consumer that catches up has them open for a shorter or longer time' AS reason,
  replace(
    replace($message, '{count}', CAST(max(peak_open_in_log) AS string)),
    '{models}',
    array_join(
      array_sort(collect_set(replace(replace($of_model, '{model}', model), '{limit}', CAST(pending_limit AS string)))),
      ', '
    )
  ) AS message,
  collect_set(CAST(NULL AS string)) AS evidence,
  FALSE AS incomplete
FROM client_forecasts
WHERE peak_open_in_log > pending_limit
GROUP BY topic
