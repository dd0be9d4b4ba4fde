-- Producers by topic: entries, how many of them are chunks, bytes, first and last time by their own clock.
SELECT
  topic,
  producer_name,
  count(*) AS entries,
  count(uuid) AS chunk_entries,
  round(count(uuid) / count(*), 4) AS chunked_share,
  CAST(sum(payload_length) AS bigint) AS payload_bytes,
  min(publish_time) AS first_published,
  max(publish_time) AS last_published,
  cluster
FROM entries AS e
WHERE
  marker_type IS NULL
  AND NOT EXISTS (SELECT 1 FROM gone_ledgers AS g WHERE e.cluster = g.cluster AND e.ledger_id = g.ledger_id)
GROUP BY cluster, topic, producer_name
ORDER BY cluster, topic, producer_name
