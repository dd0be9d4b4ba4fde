-- Ledgers of which one goes on where another one ends: at the next index, or the next number of a producer.
-- A number counts where one ledger alone ends with it, and one alone begins with it. Of a producer it is told by its first and its
-- last undamaged message in a ledger; a chunked message that is cut off goes on under its own number, with the next chunk.
WITH sound AS (
  SELECT
    ledger_id,
    entry_id,
    producer_name,
    sequence_id,
    CAST(coalesce(chunk_id, 0) AS bigint) AS chunk,
    coalesce(CAST(chunk_id AS bigint) + 1 < num_chunks_from_msg, FALSE) AS is_cut,
    greatest(
      CASE
        WHEN abs(CAST(sequence_id AS double)) < 9.2e18 THEN sequence_id + coalesce(num_messages_in_batch, 1) - 1
      END,
      sequence_id,
      highest_sequence_id
    ) AS last_number
  FROM entries
  WHERE checksum_state != 'mismatch' AND marker_type IS NULL AND length(producer_name) > 0
),

of_producers AS (
  SELECT
    ledger_id,
    producer_name,
    min_by(struct(sequence_id AS number, chunk AS chunk), entry_id) AS begins,
    max_by(
      struct(
        CASE WHEN is_cut THEN sequence_id WHEN last_number < 9223372036854775807 THEN last_number + 1 END AS number,
        CASE WHEN is_cut THEN chunk + 1 ELSE 0 END AS chunk
      ),
      entry_id
    ) AS ends
  FROM sound
  GROUP BY ledger_id, producer_name
),

places AS (
  SELECT 'producer' AS kind, producer_name, ledger_id, ends.number AS number, ends.chunk AS chunk, TRUE AS is_end
  FROM of_producers
  UNION ALL
  SELECT 'producer' AS kind, producer_name, ledger_id, begins.number AS number, begins.chunk AS chunk, FALSE AS is_end
  FROM of_producers
  UNION ALL
  SELECT 'index' AS kind, '' AS producer_name, ledger_id, last_entry_index + 1 AS number, 0 AS chunk, TRUE AS is_end
  FROM ledger_facts
  WHERE last_entry_index < 9223372036854775807
  UNION ALL
  SELECT 'index' AS kind, '' AS producer_name, ledger_id, first_message_index AS number, 0 AS chunk, FALSE AS is_end
  FROM ledger_facts
),

alone AS (
  SELECT kind, producer_name, number, chunk, is_end, min(ledger_id) AS ledger_id
  FROM places
  WHERE number IS NOT NULL
  GROUP BY kind, producer_name, number, chunk, is_end
  HAVING count(*) = 1
)

SELECT
  e.ledger_id AS before,
  b.ledger_id AS after,
  e.kind,
  count(*) AS count,
  min(e.producer_name) AS example,
  min_by(e.number, (e.producer_name, e.number)) AS number
FROM alone AS e
INNER JOIN alone AS b
  ON e.kind = b.kind AND e.producer_name = b.producer_name AND e.number = b.number AND e.chunk = b.chunk
WHERE e.is_end AND NOT b.is_end AND e.ledger_id < b.ledger_id
GROUP BY e.ledger_id, b.ledger_id, e.kind
