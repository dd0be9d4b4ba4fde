-- Made of conf/report/standing.sql (d59f1feb5c051212) by `make docs`; do not edit.
WITH blocking AS (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY topic, subscription ORDER BY ledger_id, entry_id, sureness, action) AS nth
  FROM sets
  WHERE
    blocks_dispatch
), counted AS (
  SELECT
    topic,
    subscription,
    COUNT(*) AS stall_total
  FROM stalls
  GROUP BY
    topic,
    subscription
)
SELECT
  s.*,
  c.stall_total,
  NOT b.nth IS NULL AS is_blocked,
  b.ledger_id AS blocked_ledger_id,
  b.entry_id AS blocked_entry_id,
  b.sureness AS blocked_sureness,
  b.action AS blocked_action,
  $doubt AS blocked_rank,
  CASE
    WHEN NOT b.nth IS NULL
    THEN ROW_NUMBER() OVER (
      ORDER BY b.nth IS NULL, $doubt, COALESCE(s.backlog_entries, 0) DESC, s.topic, s.subscription
    )
  END AS blocked_place
FROM subscriptions AS s
LEFT JOIN counted AS c
  ON s.topic = c.topic AND s.subscription = c.subscription
LEFT JOIN blocking AS b
  ON s.topic = b.topic AND s.subscription = b.subscription AND b.nth = 1
