-- Made of conf/sql/topic_overview.sql (55e72aa3c944457f) by `make docs`; do not edit.
WITH stored AS (
  SELECT
    cluster,
    topic,
    COUNT(DISTINCT ledger_id) AS ledgers,
    COUNT(*) AS entries,
    CAST(SUM(
      CASE
        WHEN marker_type IS NULL AND uuid IS NULL
        THEN COALESCE(num_messages_in_batch, 1)
        ELSE 0
      END
    ) AS BIGINT) AS plain_messages,
    COUNT(uuid) AS chunk_entries,
    CAST(SUM(length) AS BIGINT) AS entry_bytes,
    COUNT(DISTINCT producer_name) AS producers,
    MIN(publish_time) AS first_published,
    MAX(publish_time) AS last_published
  FROM entries AS e
  WHERE
    NOT EXISTS(SELECT
      1
    FROM gone_ledgers AS g
    WHERE
      e.cluster = g.cluster AND e.ledger_id = g.ledger_id)
  GROUP BY
    cluster,
    topic
), chunked AS (
  SELECT
    cluster,
    topic,
    COUNT(*) AS chunked_messages,
    COUNT(*) FILTER(WHERE
      state <> 'whole') AS not_whole,
    COUNT(*) FILTER(WHERE
      state <> 'whole' AND rebuildable) AS not_whole_but_rebuildable
  FROM chunked_messages
  GROUP BY
    cluster,
    topic
)
SELECT
  stored.topic,
  stored.ledgers,
  stored.entries,
  stored.plain_messages,
  stored.chunk_entries,
  COALESCE(chunked.chunked_messages, 0) AS chunked_messages,
  COALESCE(chunked.not_whole, 0) AS not_whole,
  COALESCE(chunked.not_whole_but_rebuildable, 0) AS not_whole_but_rebuildable,
  stored.entry_bytes,
  stored.producers,
  stored.first_published,
  stored.last_published,
  stored.cluster
FROM stored
LEFT JOIN chunked
  ON stored.cluster = chunked.cluster AND stored.topic = chunked.topic
ORDER BY
  not_whole DESC,
  stored.cluster,
  stored.topic
