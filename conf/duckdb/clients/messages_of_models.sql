-- Made of conf/clients/messages_of_models.sql (523b44e812e7a446) by `make docs`; do not edit.
SELECT
  $code AS code,
  m.topic AS subject,
  m.topic,
  ARG_MIN_NULL(m.ledger_id, m.number) AS ledger_id,
  ARG_MIN_NULL(m.entry_id, m.number) AS entry_id,
  COUNT(*) AS count,
  ARG_MAX_NULL(m.sureness, (m.doubt, m.reason)) AS sureness,
  ARG_MAX_NULL(m.reason, (m.doubt, m.reason)) AS reason,
  $message || ': ' || CAST(COUNT(*) AS TEXT) || ' (' || MAX(t.told) || ').' AS message,
  LIST_TRANSFORM(LIST_SORT(COALESCE(LIST({'at': m.number, 'value': m.place}) FILTER (WHERE m.number <= $max_evidence), []), 'ASC', 'NULLS LAST'), LAMBDA one : one.value) AS evidence,
  FALSE AS incomplete
FROM (
  SELECT
    *,
    $doubt AS doubt,
    CONCAT_WS(':', CAST(ledger_id AS TEXT), CAST(entry_id AS TEXT)) AS place,
    ROW_NUMBER() OVER (PARTITION BY topic ORDER BY ledger_id, entry_id) AS number
  FROM (
    SELECT
      topic,
      MIN(first_ledger_id) AS ledger_id,
      MIN(first_entry_id) AS entry_id,
      ARG_MAX_NULL(sureness, (doubt, reason)) AS sureness,
      ARG_MAX_NULL(reason, (doubt, reason)) AS reason
    FROM (
      SELECT
        *,
        $doubt AS doubt
      FROM $messages
    ) AS doubted
    GROUP BY
      topic,
      chunk_uuid,
      publish_time_ms
  ) AS once
) AS m
INNER JOIN (
  SELECT
    topic,
    ARRAY_TO_STRING(
      LIST_SORT(COALESCE(LIST(DISTINCT told) FILTER (WHERE told IS NOT NULL), []), 'ASC', 'NULLS LAST'),
      ', '
    ) AS told
  FROM $messages
  GROUP BY
    topic
) AS t
  ON m.topic = t.topic
GROUP BY
  m.topic
