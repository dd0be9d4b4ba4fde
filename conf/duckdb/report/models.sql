-- Made of conf/report/models.sql (e5904a813107ab25) by `make docs`; do not edit.
WITH stops AS (
  SELECT
    *,
    ROW_NUMBER() OVER (
      PARTITION BY model
      ORDER BY topic, damage_ledger_id, damage_entry_id, damage, sureness
    ) AS nth
  FROM client_forecasts
  WHERE
    NOT damage IS NULL
), sums AS (
  SELECT
    c.model,
    CAST(SUM(c.delivered) AS BIGINT) AS delivered,
    CAST(SUM(c.delivered_again) AS BIGINT) AS delivered_again,
    CAST(SUM(c.mixed) AS BIGINT) AS mixed,
    CAST(SUM(c.wrong_content) AS BIGINT) AS wrong_content,
    CAST(SUM(c.silent_loss) AS BIGINT) AS silent_loss,
    CAST(SUM(c.lost) AS BIGINT) AS lost,
    CAST(SUM(c.dropped) AS BIGINT) AS dropped,
    CAST(SUM(c.hole) AS BIGINT) AS hole,
    CAST(SUM(c.waiting) AS BIGINT) AS waiting,
    CAST(SUM(c.blocked) AS BIGINT) AS blocked,
    CAST(SUM(c.breaks_client) AS BIGINT) AS breaks_client,
    COUNT(c.damage) AS stopped,
    MAX(CASE WHEN c.damage IS NULL THEN NULL ELSE $doubt END) AS doubt
  FROM client_forecasts AS c
  GROUP BY
    c.model
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
LEFT JOIN stops AS f
  ON s.model = f.model AND f.nth = 1
ORDER BY
  s.model
LIMIT $models
