-- A row per model: publications by outcome over all topics, what stops it first, and how sure all stops are.
WITH stops AS (
  SELECT
    *,
    row_number() OVER (
      PARTITION BY model ORDER BY topic, damage_ledger_id, damage_entry_id, damage, sureness
    ) AS nth
  FROM client_forecasts
  WHERE damage IS NOT NULL
),

sums AS (
  SELECT
    c.model,
    CAST(sum(c.delivered) AS bigint) AS delivered,
    CAST(sum(c.delivered_again) AS bigint) AS delivered_again,
    CAST(sum(c.mixed) AS bigint) AS mixed,
    CAST(sum(c.wrong_content) AS bigint) AS wrong_content,
    CAST(sum(c.silent_loss) AS bigint) AS silent_loss,
    CAST(sum(c.lost) AS bigint) AS lost,
    CAST(sum(c.dropped) AS bigint) AS dropped,
    CAST(sum(c.hole) AS bigint) AS hole,
    CAST(sum(c.waiting) AS bigint) AS waiting,
    CAST(sum(c.blocked) AS bigint) AS blocked,
    CAST(sum(c.breaks_client) AS bigint) AS breaks_client,
    count(c.damage) AS stopped,
    max(
      CASE
        WHEN c.damage IS NULL THEN NULL
        ELSE $doubt
      END
    ) AS doubt
  FROM client_forecasts AS c
  GROUP BY c.model
)

SELECT
  s.model,
  s.delivered,
  s.delivered_again,
  s.mixed,
  s.wrong_content,
  s.silent_loss,
  s.lost,
  s.dropped,
  s.hole,
  s.waiting,
  s.blocked,
  s.breaks_client,
  s.stopped,
  $sureness AS sureness,
  f.topic AS first_topic,
  f.damage_ledger_id AS first_ledger_id,
  f.damage_entry_id AS first_entry_id,
  f.damage AS first_damage
FROM sums AS s
LEFT JOIN stops AS f ON s.model = f.model AND f.nth = 1
ORDER BY s.model
LIMIT $models
