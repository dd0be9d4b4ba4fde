-- Made of conf/subscriptions/stuck.sql (442368d995fa4fda) by `make docs`; do not edit.
SELECT
  topic,
  subscription,
  ARG_MIN_NULL(CASE WHEN is_inside THEN first_chunk_ledger_id END, place) AS ledger_id,
  ARG_MIN_NULL(CASE WHEN is_inside THEN first_chunk_entry_id END, place) AS entry_id
FROM (
  SELECT
    *,
    kind = $inside OR ARRAY_CONTAINS(also, $inside) AS is_inside,
    CASE
      WHEN kind = $inside OR ARRAY_CONTAINS(also, $inside)
      THEN {'ledger_id': first_chunk_ledger_id, 'entry_id': first_chunk_entry_id}
    END AS place
  FROM judged_stalls
  WHERE
    state = 'whole'
) AS marked
GROUP BY
  topic,
  subscription
