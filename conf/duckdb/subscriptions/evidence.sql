-- Made of conf/subscriptions/evidence.sql (df93a09d118bab2f) by `make docs`; do not edit.
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
  ) AS last_only
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
