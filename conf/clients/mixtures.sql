-- Delivered by some model as part of a mixture.
SELECT topic, chunk_uuid, publish_time_ms, first_ledger_id, first_entry_id, sureness, reason, model, model AS told
FROM consumer_outcomes
WHERE mixed_deliveries > 0
