-- C32: as many permits kept as half the receiver queue.
SELECT
  $code AS code,
  topic AS subject,
  topic,
  CAST(NULL AS bigint) AS ledger_id,
  CAST(NULL AS bigint) AS entry_id,
  CAST(max(permits_kept) AS bigint) AS count,
  'likely' AS sureness,
  'counted from the beginning of the log, without a reconnect' AS reason,
  replace(
    replace($message, '{count}', CAST(max(permits_kept) AS string)),
    '{models}',
    array_join(
      array_sort(
        collect_set(
          replace(
            replace(replace($of_model, '{model}', model), '{permits}', CAST(permits_kept AS string)),
            '{queue}', CAST(receiver_queue AS string)
          )
        )
      ),
      ', '
    )
  ) AS message,
  collect_set(CAST(NULL AS string)) AS evidence,
  FALSE AS incomplete
FROM client_forecasts
WHERE permits_kept * 2 >= receiver_queue
GROUP BY topic
