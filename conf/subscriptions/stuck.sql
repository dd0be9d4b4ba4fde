-- Subscriptions on which a message that is whole is stuck, and the first chunk that a reset of the cursor would go to.
SELECT
  topic, subscription,
  min_by(CASE WHEN is_inside THEN first_chunk_ledger_id END, place) AS ledger_id,
  min_by(CASE WHEN is_inside THEN first_chunk_entry_id END, place) AS entry_id
FROM (
  SELECT
    *,
    kind = $inside OR array_contains(also, $inside) AS is_inside,
    CASE
      WHEN kind = $inside OR array_contains(also, $inside)
        THEN struct(first_chunk_ledger_id AS ledger_id, first_chunk_entry_id AS entry_id)
    END AS place
  FROM judged_stalls
  WHERE state = 'whole'
) AS marked
GROUP BY topic, subscription
