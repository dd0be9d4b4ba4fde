-- Chunked messages by topic and state: how many, how many can be rebuilt, how many bytes.
SELECT
  topic,
  state,
  count(*) AS messages,
  count_if(rebuildable) AS rebuildable,
  count_if(sureness <> 'certain') AS not_certain,
  sum(copies) AS entries,
  sum(total_bytes) AS total_bytes,
  sum(stored_bytes) AS stored_bytes,
  cluster
FROM chunked_messages
GROUP BY cluster, topic, state
ORDER BY cluster, topic, state
