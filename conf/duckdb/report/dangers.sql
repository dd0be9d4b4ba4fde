-- Made of conf/report/dangers.sql (1dbc1aff2b48859c) by `make docs`; do not edit.
SELECT
  f.topic,
  r.subscription,
  f.model,
  f.damage,
  f.damage_ledger_id,
  f.damage_entry_id
FROM client_forecasts AS f
INNER JOIN ack_ranges AS r
  ON f.topic = r.topic
  AND f.damage_ledger_id = r.ledger_id
  AND f.damage_entry_id >= r.first_entry_id
  AND f.damage_entry_id <= r.last_entry_id
WHERE
  NOT f.damage IS NULL
