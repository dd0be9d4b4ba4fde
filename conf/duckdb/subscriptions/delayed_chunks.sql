-- Made of conf/subscriptions/delayed_chunks.sql (b29ee2bef035744a) by `make docs`; do not edit.
SELECT
  e.topic,
  e.uuid AS chunk_uuid,
  e.publish_time_ms,
  CAST(MAX(EPOCH_MS(e.deliver_at_time)) AS BIGINT) AS deliver_at_ms
FROM entries AS e
INNER JOIN saved_states AS v
  ON e.cluster = v.cluster AND e.topic = v.topic
WHERE
  e.topic IN ($topics)
  AND NOT e.chunk_id IS NULL
  AND e.marker_type IS NULL
  AND e.deliver_at_time > COALESCE(v.saved_time, v.read_time)
GROUP BY
  e.topic,
  e.uuid,
  e.publish_time_ms
