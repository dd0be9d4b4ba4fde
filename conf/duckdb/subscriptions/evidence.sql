-- Made of conf/subscriptions/evidence.sql (047242de89c03a23) by `make docs`; do not edit.
SELECT
  topic,
  subscription,
  ARG_MIN_NULL(CASE WHEN blocks THEN place.ledger_id END, CASE WHEN blocks THEN place END) AS ledger_id,
  ARG_MIN_NULL(CASE WHEN blocks THEN place.entry_id END, CASE WHEN blocks THEN place END) AS entry_id,
  COUNT(CASE WHEN state IN ('gap', 'headless') THEN 1 END) AS dropped,
  COUNT(
    CASE
      WHEN state = 'whole' AND (
        kind = 'last_only' OR ARRAY_CONTAINS(also, 'last_only')
      )
      THEN 1
    END
  ) AS last_only,
  COUNT(
    CASE
      WHEN kind = 'mark_delete_inside' OR ARRAY_CONTAINS(also, 'mark_delete_inside')
      THEN 1
    END
  ) AS inside,
  COUNT(CASE WHEN state = 'in_flight' THEN 1 END) AS arriving
FROM (
  SELECT
    topic,
    subscription,
    kind,
    also,
    state,
    kind = 'shared_stall' AND blocks_dispatch AS blocks,
    unacked_positions[1] AS place
  FROM new_stalls
) AS placed
GROUP BY
  topic,
  subscription
