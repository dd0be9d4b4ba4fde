-- Messages that were to be delivered later and that a subscription has not acknowledged: due or not yet, and whether the broker's index has them.
WITH delayed AS (
  SELECT cluster, topic, ledger_id, entry_id, publish_time, deliver_at_time
  FROM entries AS e
  WHERE
    deliver_at_time IS NOT NULL
    AND marker_type IS NULL
    AND NOT EXISTS (SELECT 1 FROM gone_ledgers AS g WHERE e.cluster = g.cluster AND e.ledger_id = g.ledger_id)
),

waiting AS (
  SELECT
    d.*,
    s.subscription,
    s.subscription_type,
    s.consumers,
    s.read_ledger_id,
    s.read_entry_id,
    s.state,
    coalesce(v.saved_time, v.read_time) AS saved_time
  FROM delayed AS d
  INNER JOIN ack_ranges AS r
    ON d.cluster = r.cluster AND d.topic = r.topic AND d.ledger_id = r.ledger_id
      AND d.entry_id BETWEEN r.first_entry_id AND r.last_entry_id
  INNER JOIN subscriptions AS s
    ON r.cluster = s.cluster AND r.topic = s.topic AND r.subscription = s.subscription AND s.kind = 'subscription'
  LEFT JOIN saved_states AS v ON d.cluster = v.cluster AND d.topic = v.topic
),

indexed AS (
  SELECT DISTINCT i.cluster, i.topic, i.subscription, i.message_ledger_id, i.message_entry_id
  FROM delayed_indexes AS i
  INNER JOIN delayed_buckets AS b ON i.cluster = b.cluster AND i.ledger_id = b.ledger_id AND b.is_named
),

buckets AS (
  SELECT
    w.cluster, w.topic, w.subscription, w.ledger_id, w.entry_id,
    max(CASE WHEN b.verdict = 'lost' THEN 1 ELSE 0 END) AS is_lost,
    max(CASE WHEN b.verdict = 'cannot_tell' THEN 1 ELSE 0 END) AS is_unread
  FROM waiting AS w
  INNER JOIN delayed_buckets AS b
    ON w.cluster = b.cluster AND w.topic = b.topic AND w.subscription = b.subscription AND b.is_named
      AND w.ledger_id BETWEEN b.first_ledger_id AND b.last_ledger_id
  GROUP BY w.cluster, w.topic, w.subscription, w.ledger_id, w.entry_id
)

SELECT
  w.topic,
  w.subscription,
  w.ledger_id,
  w.entry_id,
  w.publish_time,
  w.deliver_at_time,
  w.saved_time,
  CASE
    WHEN w.deliver_at_time > w.saved_time THEN 'waits'
    WHEN w.deliver_at_time <= w.saved_time THEN 'due'
    ELSE 'cannot_tell'
  END AS state,
  CASE
    WHEN w.subscription_type IN ('Exclusive', 'Failover') THEN 'not_delayed'
    WHEN i.message_entry_id IS NOT NULL THEN 'indexed'
    WHEN b.is_lost = 1 THEN 'index_lost'
    WHEN b.is_unread = 1 THEN 'cannot_tell'
    WHEN b.is_lost = 0 THEN 'not_in_bucket'
    ELSE 'no_bucket'
  END AS index_state,
  w.subscription_type,
  w.consumers,
  w.cluster
FROM waiting AS w
LEFT JOIN indexed AS i
  ON w.cluster = i.cluster AND w.topic = i.topic AND w.subscription = i.subscription
    AND w.ledger_id = i.message_ledger_id AND w.entry_id = i.message_entry_id
LEFT JOIN buckets AS b
  ON w.cluster = b.cluster AND w.topic = b.topic AND w.subscription = b.subscription
    AND w.ledger_id = b.ledger_id AND w.entry_id = b.entry_id
ORDER BY w.cluster, w.topic, w.subscription, w.deliver_at_time, w.ledger_id, w.entry_id
