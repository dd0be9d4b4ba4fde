-- Chunked messages of some topics that were to be delivered later, and whose time had not come when the topic's state was saved.
SELECT
  e.topic,
  e.uuid AS chunk_uuid,
  e.publish_time_ms,
  CAST(max(unix_millis(e.deliver_at_time)) AS bigint) AS deliver_at_ms
FROM entries AS e
INNER JOIN saved_states AS v ON e.cluster = v.cluster AND e.topic = v.topic
WHERE
  e.topic IN ($topics) AND e.chunk_id IS NOT NULL AND e.marker_type IS NULL
  AND e.deliver_at_time > coalesce(v.saved_time, v.read_time)
GROUP BY e.topic, e.uuid, e.publish_time_ms
