-- Made of conf/clients/undelivered.sql (8c9cfd0060e0d578) by `make docs`; do not edit.
SELECT
  topic,
  chunk_uuid,
  publish_time_ms,
  first_ledger_id,
  first_entry_id,
  sureness,
  reason,
  model,
  model || ' ' || CAST(COUNT(*) OVER (PARTITION BY topic, model, outcome) AS TEXT) || ' ' || outcome AS told
FROM (
  SELECT
    o.*
  FROM consumer_outcomes AS o
  INNER JOIN chunked_messages AS m
    ON o.topic = m.topic
    AND o.chunk_uuid = m.chunk_uuid
    AND o.publish_time_ms = m.publish_time_ms
  WHERE
    o.outcome <> 'delivered' AND m.state IN ($complete)
) AS parted
