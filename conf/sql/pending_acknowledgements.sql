-- What transactions acknowledge and have not ended on a subscription, entry by entry, with what the transaction log says of each.
WITH last_status AS (
  SELECT cluster, txn, max_by(status, (ledger_id, entry_id, record)) AS status
  FROM transaction_log
  WHERE status IS NOT NULL
  GROUP BY cluster, txn
),

coordinators AS (
  SELECT DISTINCT cluster, split_part(txn, ':', 1) AS coordinator
  FROM transaction_log AS l
  WHERE NOT EXISTS (
    SELECT 1
    FROM internal_ledgers AS i
    WHERE l.cluster = i.cluster AND i.kind = 'transaction_log' AND i.rows_left_out > 0
  )
),

pending AS (
  SELECT
    cluster, topic, about_topic, subscription, ledger_id, entry_id, txn, ack_type, explode(positions) AS position
  FROM pending_acks
  WHERE operation = 'ack' AND outcome = 'pending'
)

SELECT
  p.about_topic AS topic,
  p.subscription,
  p.txn,
  p.ack_type,
  p.position.ledger_id AS ledger_id,
  p.position.entry_id AS entry_id,
  p.position.batch_size AS batch_size,
  t.status AS transaction_status,
  CASE
    WHEN s.mark_delete_ledger_id > p.position.ledger_id
      OR (s.mark_delete_ledger_id = p.position.ledger_id AND s.mark_delete_entry_id >= p.position.entry_id)
      THEN 'acknowledged'
    WHEN t.status NOT IN ('committed', 'aborted') THEN 'waits'
    WHEN t.status IS NOT NULL THEN 'stuck'
    WHEN c.coordinator IS NOT NULL THEN 'unknown_transaction'
    ELSE 'cannot_tell'
  END AS verdict,
  CASE
    WHEN s.mark_delete_ledger_id > p.position.ledger_id
      OR (s.mark_delete_ledger_id = p.position.ledger_id AND s.mark_delete_entry_id >= p.position.entry_id)
      THEN 'The subscription has acknowledged it by other means.'
    WHEN t.status NOT IN ('committed', 'aborted') THEN 'The transaction has not ended; the entry is delivered to nobody until it ends.'
    WHEN t.status IS NOT NULL
      THEN concat('The transaction log says ', t.status, ', and the subscription has not heard of it: the entry stays out of reach.')
    WHEN c.coordinator IS NOT NULL
      THEN 'The log of its coordinator does not know the transaction any more: perhaps nobody ends what is pending.'
    ELSE 'The transaction log was not read, or not all of it is kept.'
  END AS reason,
  p.topic AS log_topic,
  p.ledger_id AS log_ledger_id,
  p.entry_id AS log_entry_id,
  p.cluster
FROM pending AS p
LEFT JOIN last_status AS t ON p.cluster = t.cluster AND p.txn = t.txn
LEFT JOIN coordinators AS c ON p.cluster = c.cluster AND split_part(p.txn, ':', 1) = c.coordinator
LEFT JOIN subscriptions AS s
  ON p.cluster = s.cluster AND p.about_topic = s.topic AND p.subscription = s.subscription AND s.state = 'whole'
ORDER BY p.cluster, p.about_topic, p.subscription, ledger_id, entry_id, p.txn
