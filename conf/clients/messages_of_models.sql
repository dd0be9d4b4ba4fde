-- One finding per topic of messages with their models: each counts once, as sure as the least sure model.
SELECT
  $code AS code,
  m.topic AS subject,
  m.topic,
  min_by(m.ledger_id, m.number) AS ledger_id,
  min_by(m.entry_id, m.number) AS entry_id,
  count(*) AS count,
  max_by(m.sureness, (m.doubt, m.reason)) AS sureness,
  max_by(m.reason, (m.doubt, m.reason)) AS reason,
  concat($message, ': ', CAST(count(*) AS string), ' (', max(t.told), ').') AS message,
  transform(
    array_sort(collect_list(CASE WHEN m.number <= $max_evidence THEN struct(m.number AS at, m.place AS value) END)), one -> one.value
  ) AS evidence,
  FALSE AS incomplete
FROM (
  SELECT
    *,
    $doubt AS doubt,
    concat_ws(':', CAST(ledger_id AS string), CAST(entry_id AS string)) AS place,
    row_number() OVER (PARTITION BY topic ORDER BY ledger_id, entry_id) AS number
  FROM (
    SELECT
      topic,
      min(first_ledger_id) AS ledger_id,
      min(first_entry_id) AS entry_id,
      max_by(sureness, (doubt, reason)) AS sureness,
      max_by(reason, (doubt, reason)) AS reason
    FROM (
      SELECT *, $doubt AS doubt FROM $messages
    ) AS doubted
    GROUP BY topic, chunk_uuid, publish_time_ms
  ) AS once
) AS m
INNER JOIN (
  SELECT topic, array_join(array_sort(collect_set(told)), ', ') AS told FROM $messages GROUP BY topic
) AS t ON m.topic = t.topic
GROUP BY m.topic
