-- Made of conf/report/examples.sql (2db852049c0bf47e) by `make docs`; do not edit.
SELECT
  topic,
  model,
  outcome,
  publications,
  first_ledger_id,
  first_entry_id,
  sureness,
  reason
FROM (
  SELECT
    o.topic,
    o.model,
    o.outcome,
    o.first_ledger_id,
    o.first_entry_id,
    o.sureness,
    o.reason,
    COUNT(*) OVER (PARTITION BY o.topic, o.model, o.outcome) AS publications,
    ROW_NUMBER() OVER (
      PARTITION BY o.topic, o.model, o.outcome
      ORDER BY o.first_ledger_id, o.first_entry_id, o.sureness, o.reason
    ) AS number
  FROM consumer_outcomes AS o
  SEMI JOIN chosen AS c
    ON o.topic IS NOT DISTINCT FROM c.topic
  WHERE
    o.outcome IN (
      'breaks_client',
      'mixed',
      'wrong_content',
      'silent_loss',
      'lost',
      'delivered_again'
    )
) AS numbered
WHERE
  number = 1
ORDER BY
  topic,
  model,
  outcome
