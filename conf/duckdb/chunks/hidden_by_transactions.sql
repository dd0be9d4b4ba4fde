-- Made of conf/chunks/hidden_by_transactions.sql (aa9a0f0c2c75013f) by `make docs`; do not edit.
WITH ended AS (
  SELECT
    topic,
    txnid_most_bits,
    txnid_least_bits,
    BOOL_OR(CAST(marker_type = $commit AS BOOLEAN)) AS is_committed
  FROM noted_entries
  WHERE
    marker_type IN ($commit, $abort)
    AND checksum_state <> 'mismatch'
  GROUP BY
    topic,
    txnid_most_bits,
    txnid_least_bits
), in_transaction AS (
  SELECT
    c.topic,
    COALESCE(c.uuid, '') AS chunk_uuid,
    c.publish_time_ms,
    c.txnid_most_bits,
    c.txnid_least_bits,
    CASE
      WHEN c.topic NOT LIKE 'segment://%'
      THEN CASE
        WHEN e.is_committed
        THEN 'committed'
        WHEN e.is_committed IS NULL
        THEN 'open'
        ELSE 'aborted'
      END
      WHEN s.state = 'aborted' OR h.state = 'aborted'
      THEN 'aborted'
      WHEN h.state = 'open'
      THEN 'open'
      WHEN s.state = 'committed' OR h.state = 'committed'
      THEN 'committed'
      WHEN NOT w.watermark_ledger_id IS NULL
      AND c.ledger_id >= w.first_ledger_id
      AND (c.ledger_id, c.entry_id) <= (w.watermark_ledger_id, w.watermark_entry_id)
      THEN 'committed'
      ELSE 'cannot_tell'
    END AS txn_state
  FROM chunk_entries AS c
  LEFT JOIN ended AS e
    ON c.topic = e.topic
    AND c.txnid_most_bits = e.txnid_most_bits
    AND c.txnid_least_bits = e.txnid_least_bits
  LEFT JOIN transactions AS s
    ON c.topic = s.topic
    AND c.txnid_most_bits = s.txnid_most_bits
    AND c.txnid_least_bits = s.txnid_least_bits
  LEFT JOIN transactions AS h
    ON h.topic = ''
    AND c.txnid_most_bits = h.txnid_most_bits
    AND c.txnid_least_bits = h.txnid_least_bits
  LEFT JOIN segments AS w
    ON c.topic = w.segment
  WHERE
    NOT c.txnid_most_bits IS NULL
), of_message AS (
  SELECT
    topic,
    chunk_uuid,
    publish_time_ms,
    COUNT(*) AS in_transaction,
    COUNT(DISTINCT (txnid_most_bits, txnid_least_bits)) AS transactions,
    BOOL_AND(CAST(txn_state = 'committed' AS BOOLEAN)) AS is_committed,
    BOOL_OR(CAST(txn_state = 'open' AS BOOLEAN)) AS is_open,
    BOOL_OR(CAST(txn_state = 'cannot_tell' AS BOOLEAN)) AS is_undecided
  FROM in_transaction
  GROUP BY
    topic,
    chunk_uuid,
    publish_time_ms
), judged AS (
  SELECT
    m.topic,
    m.first_ledger_id,
    m.first_entry_id,
    t.is_committed,
    t.is_open,
    t.transactions > 1 OR t.in_transaction < m.copies AS is_mixed,
    t.is_undecided AND t.transactions = 1 AND t.in_transaction = m.copies AS is_undecided
  FROM chunked_messages AS m
  INNER JOIN of_message AS t
    ON m.topic = t.topic
    AND m.chunk_uuid = t.chunk_uuid
    AND m.publish_time_ms = t.publish_time_ms
)
SELECT
  topic,
  first_ledger_id AS ledger_id,
  first_entry_id AS entry_id,
  CASE
    WHEN is_undecided
    THEN 'cannot_tell'
    WHEN is_open AND NOT is_mixed
    THEN 'likely'
    ELSE 'certain'
  END AS sureness,
  CASE
    WHEN is_undecided
    THEN 'segments hold no markers, and what was saved of the metadata store does not say'
    WHEN is_mixed
    THEN 'its chunks do not agree on a transaction'
    WHEN is_open
    THEN 'its transaction has neither been committed nor aborted, as far as is seen'
    ELSE 'its transaction was aborted'
  END AS reason,
  CASE WHEN is_undecided THEN 'C38' ELSE 'C30' END AS code
FROM judged
WHERE
  is_mixed OR NOT is_committed
