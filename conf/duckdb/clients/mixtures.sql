-- Made of conf/clients/mixtures.sql (a9f088943e059493) by `make docs`; do not edit.
SELECT
  topic,
  chunk_uuid,
  publish_time_ms,
  first_ledger_id,
  first_entry_id,
  sureness,
  reason,
  model,
  model AS told
FROM consumer_outcomes
WHERE
  mixed_deliveries > 0
