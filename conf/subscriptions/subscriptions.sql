-- What the states say of each cursor, with what the joins counted.
WITH grouped AS (
  SELECT
    topic, subscription,
    CAST(sum(CASE WHEN kind = $sum THEN entries END) AS bigint) AS backlog_entries,
    CAST(sum(CASE WHEN kind = $sum THEN messages END) AS bigint) AS backlog_messages,
    CAST(sum(CASE WHEN kind = $sum THEN bytes END) AS bigint) AS backlog_bytes,
    count(CASE WHEN kind = 'hole' THEN 1 END) AS holes,
    CAST(sum(CASE WHEN kind = 'hole' THEN entries END) AS bigint) AS hole_entries,
    count(CASE WHEN kind = 'batch_hole' THEN 1 END) AS batch_holes,
    CAST(sum(redelivered_bytes) AS bigint) AS redelivered_bytes,
    CAST(sum(rolled_back_entries) AS bigint) AS rollback_entries,
    CAST(sum(rolled_back_bytes) AS bigint) AS rollback_bytes
  FROM acks
  GROUP BY topic, subscription
),

firsts AS (
  SELECT topic, subscription, ledger_id, first_entry_id AS entry_id, publish_time_ms, broker_time_ms
  FROM (
    SELECT
      *, row_number() OVER (PARTITION BY topic, subscription ORDER BY ledger_id, first_entry_id) AS nth
    FROM acks
    WHERE kind = $sum AND entries > 0
  ) AS numbered
  WHERE nth = 1
),

oldest AS (
  SELECT
    o.topic, o.subscription, o.ledger_id, o.entry_id,
    CASE WHEN o.publish_time_ms BETWEEN 0 AND $end_ms THEN timestamp_millis(o.publish_time_ms) END AS published,
    CASE WHEN o.broker_time_ms BETWEEN 0 AND $end_ms THEN timestamp_millis(o.broker_time_ms) END AS added,
    CASE WHEN m.state IS NULL THEN 'message' ELSE concat_ws(' ', m.state, c.role) END AS what
  FROM firsts AS o
  LEFT JOIN chunks AS c ON o.topic = c.topic AND o.ledger_id = c.ledger_id AND o.entry_id = c.entry_id
  LEFT JOIN chunked_messages AS m
    ON c.topic = m.topic AND c.chunk_uuid = m.chunk_uuid AND c.publish_time_ms = m.publish_time_ms
),

todo AS (
  SELECT topic, subscription, count(*) AS stalls
  FROM new_stalls
  WHERE action NOT IN ('wait', 'none')
  GROUP BY topic, subscription
)

SELECT
  s.*,
  o.ledger_id AS oldest_unacked_ledger_id,
  o.entry_id AS oldest_unacked_entry_id,
  o.published AS oldest_unacked_time,
  o.added AS oldest_unacked_broker_time,
  o.what AS oldest_unacked_what,
  CASE WHEN s.state <> 'unknown' THEN coalesce(g.holes, 0) END AS holes,
  CASE WHEN s.state <> 'unknown' THEN coalesce(g.hole_entries, 0) END AS hole_entries,
  CASE WHEN s.state <> 'unknown' THEN coalesce(g.batch_holes, 0) END AS batch_holes,
  CASE WHEN s.state <> 'unknown' THEN coalesce(g.backlog_entries, 0) END AS backlog_entries,
  CASE WHEN s.state <> 'unknown' THEN coalesce(g.backlog_messages, 0) END AS backlog_messages,
  CASE WHEN s.state <> 'unknown' THEN coalesce(g.backlog_bytes, 0) END AS backlog_bytes,
  coalesce(t.stalls, 0) AS stalls,
  CASE WHEN s.state <> 'unknown' THEN coalesce(g.redelivered_bytes, 0) END AS redelivered_bytes,
  CASE WHEN s.state <> 'unknown' THEN coalesce(g.rollback_entries, 0) END AS rollback_entries,
  CASE WHEN s.state <> 'unknown' THEN coalesce(g.rollback_bytes, 0) END AS rollback_bytes
FROM cursors AS s
LEFT JOIN grouped AS g ON s.topic = g.topic AND s.subscription = g.subscription
LEFT JOIN oldest AS o ON s.topic = o.topic AND s.subscription = o.subscription
LEFT JOIN todo AS t ON s.topic = t.topic AND s.subscription = t.subscription
