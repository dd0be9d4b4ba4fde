-- Made of conf/sql/producers.sql (ab4651c0155ee734) by `make docs`; do not edit.
SELECT
  topic,
  producer_name,
  COUNT(*) AS entries,
  COUNT(uuid) AS chunk_entries,
  ROUND(COUNT(uuid) / NULLIF(COUNT(*), 0), 4) AS chunked_share,
  CAST(SUM(payload_length) AS BIGINT) AS payload_bytes,
  MIN(publish_time) AS first_published,
  MAX(publish_time) AS last_published,
  cluster
FROM entries AS e
WHERE
  marker_type IS NULL
  AND NOT EXISTS(SELECT
    1
  FROM gone_ledgers AS g
  WHERE
    e.cluster = g.cluster AND e.ledger_id = g.ledger_id)
GROUP BY
  cluster,
  topic,
  producer_name
ORDER BY
  cluster,
  topic,
  producer_name
