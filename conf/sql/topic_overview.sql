-- Topics: entries, messages, bytes, times, chunked messages and how many of them are not whole.
WITH stored AS (
  SELECT
    cluster,
    topic,
    count(DISTINCT ledger_id) AS ledgers,
    count(*) AS entries,
    CAST(
      sum(CASE WHEN marker_type IS NULL AND uuid IS NULL THEN coalesce(num_messages_in_batch, 1) ELSE 0 END) AS bigint
    ) AS plain_messages,
    count(uuid) AS chunk_entries,
    CAST(sum(length) AS bigint) AS entry_bytes,
    count(DISTINCT producer_name) AS producers,
    min(publish_time) AS first_published,
    max(publish_time) AS last_published
  FROM entries AS e
  WHERE NOT EXISTS (SELECT 1 FROM gone_ledgers AS g WHERE e.cluster = g.cluster AND e.ledger_id = g.ledger_id)
  GROUP BY cluster, topic
),

chunked AS (
  SELECT
    cluster,
    topic,
    count(*) AS chunked_messages,
    count(*) FILTER (WHERE state <> 'whole') AS not_whole,
    count(*) FILTER (WHERE state <> 'whole' AND rebuildable) AS not_whole_but_rebuildable
  FROM chunked_messages
  GROUP BY cluster, topic
)

SELECT
  stored.topic,
  stored.ledgers,
  stored.entries,
  stored.plain_messages,
  stored.chunk_entries,
  coalesce(chunked.chunked_messages, 0) AS chunked_messages,
  coalesce(chunked.not_whole, 0) AS not_whole,
  coalesce(chunked.not_whole_but_rebuildable, 0) AS not_whole_but_rebuildable,
  stored.entry_bytes,
  stored.producers,
  stored.first_published,
  stored.last_published,
  stored.cluster
FROM stored
LEFT JOIN chunked ON stored.cluster = chunked.cluster AND stored.topic = chunked.topic
ORDER BY not_whole DESC, stored.cluster, stored.topic
