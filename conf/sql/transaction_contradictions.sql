-- Transactions of which the transaction log, the markers in a topic's log and the snapshots of its aborted transactions say different things.
WITH last_status AS (
  SELECT cluster, txn, max_by(status, (ledger_id, entry_id, record)) AS status
  FROM transaction_log
  WHERE status IS NOT NULL
  GROUP BY cluster, txn
),

ends AS (
  SELECT
    cluster,
    topic,
    concat(CAST(txnid_most_bits AS string), ':', CAST(txnid_least_bits AS string)) AS txn,
    CASE marker_type WHEN 21 THEN 'committed' ELSE 'aborted' END AS marker,
    max_by(struct(ledger_id AS ledger_id, entry_id AS entry_id), (ledger_id, entry_id)) AS at
  FROM noted_entries AS n
  WHERE
    marker_type IN (21, 22)
    AND coalesce(topic, '') NOT LIKE 'segment://%'
    AND NOT EXISTS (SELECT 1 FROM gone_ledgers AS g WHERE n.cluster = g.cluster AND n.ledger_id = g.ledger_id)
  GROUP BY cluster, topic, txnid_most_bits, txnid_least_bits, marker_type
),

whole AS (
  SELECT cluster, about_topic AS topic, read_up_to_ledger_id, read_up_to_entry_id, aborted
  FROM transaction_snapshots
  WHERE is_current AND record_type LIKE '%TransactionBufferSnapshot'
),

snapshots AS (
  SELECT DISTINCT cluster, topic, txn
  FROM (
    SELECT cluster, about_topic AS topic, explode(aborted) AS txn
    FROM transaction_snapshots
    WHERE is_current OR record_type LIKE '%Segment'
  ) AS listed
),

unsure AS (
  SELECT DISTINCT cluster
  FROM internal_ledgers
  WHERE kind = 'transaction_snapshot' AND coalesce(rows_left_out, 0) + coalesce(unread_entries, 0) > 0
),

both_ends AS (
  SELECT cluster, topic, txn
  FROM ends
  GROUP BY cluster, topic, txn
  HAVING count(*) > 1
),

contradicted AS (
  SELECT
    e.cluster, e.topic, e.txn, e.marker, e.at, t.status, s.txn IS NOT NULL AS is_in_snapshot,
    CASE
      WHEN b.txn IS NOT NULL THEN 'two_ends'
      WHEN e.marker = 'committed' AND t.status IN ('aborting', 'aborted') THEN 'log_says_aborted'
      WHEN e.marker = 'aborted' AND t.status IN ('committing', 'committed') THEN 'log_says_committed'
      WHEN e.marker = 'committed' AND s.txn IS NOT NULL THEN 'snapshot_says_aborted'
      WHEN e.marker = 'aborted' AND s.txn IS NULL AND u.cluster IS NULL
        AND (
          w.read_up_to_ledger_id > e.at.ledger_id
          OR (w.read_up_to_ledger_id = e.at.ledger_id AND w.read_up_to_entry_id >= e.at.entry_id)
        )
        THEN 'not_in_snapshot'
    END AS kind
  FROM ends AS e
  LEFT JOIN last_status AS t ON e.cluster = t.cluster AND e.txn = t.txn
  LEFT JOIN snapshots AS s ON e.cluster = s.cluster AND e.topic = s.topic AND e.txn = s.txn
  LEFT JOIN whole AS w ON e.cluster = w.cluster AND e.topic = w.topic
  LEFT JOIN unsure AS u ON e.cluster = u.cluster
  LEFT JOIN both_ends AS b ON e.cluster = b.cluster AND e.topic = b.topic AND e.txn = b.txn
)

SELECT
  topic,
  txn,
  kind,
  CASE kind
    WHEN 'two_ends' THEN 'Markers of commit and of abort stand in the same log.'
    WHEN 'log_says_aborted' THEN 'The topic has a marker of commit, and the transaction log says aborted.'
    WHEN 'log_says_committed' THEN 'The topic has a marker of abort, and the transaction log says committed: what was committed is hidden here.'
    WHEN 'snapshot_says_aborted' THEN 'The topic has a marker of commit, and the snapshot lists the transaction as aborted: a broker that loads the topic hides its messages.'
    ELSE 'The marker of abort lies before the point up to which the snapshot was made, and the snapshot does not list the transaction: a broker that loads the topic delivers its messages.'
  END AS reason,
  marker,
  at.ledger_id AS marker_ledger_id,
  at.entry_id AS marker_entry_id,
  status AS log_status,
  is_in_snapshot,
  cluster
FROM contradicted
WHERE kind IS NOT NULL
ORDER BY cluster, topic, marker_ledger_id, marker_entry_id
