-- One finding per topic and code of `coded`: position and evidence of the first places, the sureness of the least sure.
SELECT
  code,
  coalesce(topic, 'topic unknown') AS subject,
  topic,
  min_by(ledger_id, number) AS ledger_id,
  min_by(entry_id, number) AS entry_id,
  count(*) AS count,
  max_by(sureness, (doubt, reason)) AS sureness,
  max_by(reason, (doubt, reason)) AS reason,
  concat($counted, ': ', CAST(count(*) AS string), '.') AS message,
  transform(
    array_sort(collect_set(CASE WHEN number <= $max_evidence THEN struct(number AS at, place AS value) END)), one -> one.value
  ) AS evidence,
  code IN ($incomplete) AS incomplete
FROM (
  SELECT
    *,
    $doubt AS doubt,
    concat_ws(':', CAST(ledger_id AS string), CAST(entry_id AS string)) AS place,
    -- Several rows may be of one place, as stalls of several subscriptions are.
    dense_rank() OVER (PARTITION BY topic, code ORDER BY ledger_id, entry_id) AS number
  FROM coded
  WHERE code IN ($codes)
) AS numbered
GROUP BY topic, code
