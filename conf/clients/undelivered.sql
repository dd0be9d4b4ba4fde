-- Whole in the log, and by some model not delivered exactly once.
SELECT
  topic, chunk_uuid, publish_time_ms, first_ledger_id, first_entry_id, sureness, reason, model,
  concat(model, ' ', CAST(count(*) OVER (PARTITION BY topic, model, outcome) AS string), ' ', outcome) AS told
FROM (
  SELECT o.*
  FROM consumer_outcomes AS o
  INNER JOIN chunked_messages AS m
    ON o.topic = m.topic AND o.chunk_uuid = m.chunk_uuid AND o.publish_time_ms = m.publish_time_ms
  WHERE o.outcome != 'delivered' AND m.state IN ($complete)
) AS parted
