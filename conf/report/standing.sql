-- Subscriptions with how many chunk sets they have, and the first one that blocks them.
-- The blocked ones have a place, the surest and then the largest first.
WITH blocking AS (
  SELECT
    *,
    row_number() OVER (
      PARTITION BY topic, subscription ORDER BY ledger_id, entry_id, sureness, action
    ) AS nth
  FROM sets
  WHERE blocks_dispatch
),

counted AS (
  SELECT topic, subscription, count(*) AS stall_total FROM stalls GROUP BY topic, subscription
)

SELECT
  s.*,
  c.stall_total,
  b.nth IS NOT NULL AS is_blocked,
  b.ledger_id AS blocked_ledger_id,
  b.entry_id AS blocked_entry_id,
  b.sureness AS blocked_sureness,
  b.action AS blocked_action,
  $doubt AS blocked_rank,
  CASE
    WHEN b.nth IS NOT NULL THEN
      row_number() OVER (
        ORDER BY
          b.nth IS NULL,
          $doubt,
          coalesce(s.backlog_entries, 0) DESC,
          s.topic,
          s.subscription
      )
  END AS blocked_place
FROM subscriptions AS s
LEFT JOIN counted AS c ON s.topic = c.topic AND s.subscription = c.subscription
LEFT JOIN blocking AS b ON s.topic = b.topic AND s.subscription = b.subscription AND b.nth = 1
