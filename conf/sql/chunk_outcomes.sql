-- Chunked messages by topic and state: how many, how many can be rebuilt, how many bytes.
SELECT
  topic,
  state,
  count(*) AS messages,
  count(*) FILTER (WHERE rebuildable) AS rebuildable,
  count(*) FILTER (WHERE sureness <> 'certain') AS not_certain,
  CAST(sum(copies) AS bigint) AS entries,
  CAST(sum(total_bytes) AS bigint) AS total_bytes,
  CAST(sum(stored_bytes) AS bigint) AS stored_bytes,
  cluster
FROM chunked_messages
GROUP BY cluster, topic, state
ORDER BY cluster, topic, state
