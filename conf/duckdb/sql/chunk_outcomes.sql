-- Made of conf/sql/chunk_outcomes.sql (353c61cb44f2a63c) by `make docs`; do not edit.
SELECT
  topic,
  state,
  COUNT(*) AS messages,
  COUNT(*) FILTER(WHERE
    rebuildable) AS rebuildable,
  COUNT(*) FILTER(WHERE
    sureness <> 'certain') AS not_certain,
  CAST(SUM(copies) AS BIGINT) AS entries,
  CAST(SUM(total_bytes) AS BIGINT) AS total_bytes,
  CAST(SUM(stored_bytes) AS BIGINT) AS stored_bytes,
  cluster
FROM chunked_messages
GROUP BY
  cluster,
  topic,
  state
ORDER BY
  cluster,
  topic,
  state
