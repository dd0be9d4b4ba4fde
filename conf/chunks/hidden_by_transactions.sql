-- C30, C38: chunks in a transaction that was aborted or has not ended, in more than one, or only some in one.
-- Segments of scalable topics hold no markers: the metadata store decides there, and the log alone cannot tell (C38).
-- A marker whose checksum does not agree is not believed: which transaction it ends, and how, may be what was damaged.
WITH ended AS (
  SELECT topic, txnid_most_bits, txnid_least_bits, bool_or(marker_type = $commit) AS is_committed
  FROM noted_entries
  WHERE marker_type IN ($commit, $abort) AND checksum_state != 'mismatch'
  GROUP BY topic, txnid_most_bits, txnid_least_bits
),

of_message AS (
  SELECT
    c.topic,
    coalesce(c.uuid, '') AS chunk_uuid,
    c.publish_time_ms,
    count(*) AS in_transaction,
    count(DISTINCT (c.txnid_most_bits, c.txnid_least_bits)) AS transactions,
    bool_and(coalesce(e.is_committed, FALSE)) AS is_committed,
    bool_or(e.is_committed IS NULL) AS is_open
  FROM chunk_entries AS c
  LEFT JOIN ended AS e
    ON c.topic = e.topic AND c.txnid_most_bits = e.txnid_most_bits AND c.txnid_least_bits = e.txnid_least_bits
  WHERE c.txnid_most_bits IS NOT NULL
  GROUP BY c.topic, coalesce(c.uuid, ''), c.publish_time_ms
),

judged AS (
  SELECT
    m.topic, m.first_ledger_id, m.first_entry_id, t.is_committed, t.is_open,
    t.transactions > 1 OR t.in_transaction < m.copies AS is_mixed,
    t.is_open AND m.topic LIKE 'segment://%' AND t.transactions = 1 AND t.in_transaction = m.copies AS is_undecided
  FROM chunked_messages AS m
  INNER JOIN of_message AS t
    ON m.topic = t.topic AND m.chunk_uuid = t.chunk_uuid AND m.publish_time_ms = t.publish_time_ms
)

SELECT
  topic,
  first_ledger_id AS ledger_id,
  first_entry_id AS entry_id,
  CASE WHEN is_undecided THEN 'cannot_tell' WHEN is_open AND NOT is_mixed THEN 'likely' ELSE 'certain' END AS sureness,
  CASE
    WHEN is_undecided THEN 'segments hold no markers: the metadata store decides, and it was not read'
    WHEN is_mixed THEN 'its chunks do not agree on a transaction'
    WHEN is_open THEN 'its transaction has neither been committed nor aborted in the log that is seen'
    ELSE 'its transaction was aborted'
  END AS reason,
  CASE WHEN is_undecided THEN 'C38' ELSE 'C30' END AS code
FROM judged
WHERE is_mixed OR NOT is_committed
