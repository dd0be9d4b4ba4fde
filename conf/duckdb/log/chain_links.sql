-- Made of conf/log/chain_links.sql (bf4d66def4d1b998) by `make docs`; do not edit.
WITH sound AS (
  SELECT
    ledger_id,
    entry_id,
    producer_name,
    sequence_id,
    CAST(COALESCE(chunk_id, 0) AS BIGINT) AS chunk,
    COALESCE(CAST(chunk_id AS BIGINT) + 1 < num_chunks_from_msg, FALSE) AS is_cut,
    GREATEST(
      CASE
        WHEN ABS(CAST(sequence_id AS DOUBLE)) < 9.2e18
        THEN sequence_id + COALESCE(num_messages_in_batch, 1) - 1
      END,
      sequence_id,
      highest_sequence_id
    ) AS last_number
  FROM entries
  WHERE
    checksum_state <> 'mismatch' AND marker_type IS NULL AND LENGTH(producer_name) > 0
), of_producers AS (
  SELECT
    ledger_id,
    producer_name,
    ARG_MIN_NULL({'number': sequence_id, 'chunk': chunk}, entry_id) AS begins,
    ARG_MAX_NULL({'number': CASE
      WHEN is_cut
      THEN sequence_id
      WHEN last_number < 9223372036854775807
      THEN last_number + 1
    END, 'chunk': CASE WHEN is_cut THEN chunk + 1 ELSE 0 END}, entry_id) AS ends
  FROM sound
  GROUP BY
    ledger_id,
    producer_name
), places AS (
  SELECT
    'producer' AS kind,
    producer_name,
    ledger_id,
    ends.number AS number,
    ends.chunk AS chunk,
    TRUE AS is_end
  FROM of_producers
  UNION ALL
  SELECT
    'producer' AS kind,
    producer_name,
    ledger_id,
    begins.number AS number,
    begins.chunk AS chunk,
    FALSE AS is_end
  FROM of_producers
  UNION ALL
  SELECT
    'index' AS kind,
    '' AS producer_name,
    ledger_id,
    last_entry_index + 1 AS number,
    0 AS chunk,
    TRUE AS is_end
  FROM ledger_facts
  WHERE
    last_entry_index < 9223372036854775807
  UNION ALL
  SELECT
    'index' AS kind,
    '' AS producer_name,
    ledger_id,
    first_message_index AS number,
    0 AS chunk,
    FALSE AS is_end
  FROM ledger_facts
), alone AS (
  SELECT
    kind,
    producer_name,
    number,
    chunk,
    is_end,
    MIN(ledger_id) AS ledger_id
  FROM places
  WHERE
    NOT number IS NULL
  GROUP BY
    kind,
    producer_name,
    number,
    chunk,
    is_end
  HAVING
    COUNT(*) = 1
)
SELECT
  e.ledger_id AS before,
  b.ledger_id AS after,
  e.kind,
  COUNT(*) AS count,
  MIN(e.producer_name) AS example,
  ARG_MIN_NULL(e.number, (e.producer_name, e.number)) AS number
FROM alone AS e
INNER JOIN alone AS b
  ON e.kind = b.kind
  AND e.producer_name = b.producer_name
  AND e.number = b.number
  AND e.chunk = b.chunk
WHERE
  e.is_end AND NOT b.is_end AND e.ledger_id < b.ledger_id
GROUP BY
  e.ledger_id,
  b.ledger_id,
  e.kind
