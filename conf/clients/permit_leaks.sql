-- C32: as many permits kept as half the receiver queue.
SELECT
  'C32' AS code,
  topic AS subject,
  topic,
  CAST(NULL AS bigint) AS ledger_id,
  CAST(NULL AS bigint) AS entry_id,
  CAST(max(permits_kept) AS bigint) AS count,
  'likely' AS sureness,
  'counted from the beginning of the log, without a reconnect' AS reason,
  concat(
    'Permits that a client keeps: ', CAST(max(permits_kept) AS string), ' at most (',
    array_join(
      array_sort(
        collect_set(concat(model, ' keeps ', CAST(permits_kept AS string), ' of ', CAST(receiver_queue AS string)))
      ),
      ', '
    ),
    ').'
  ) AS message,
  collect_set(CAST(NULL AS string)) AS evidence,
  FALSE AS incomplete
FROM client_forecasts
WHERE permits_kept * 2 >= receiver_queue
GROUP BY topic
