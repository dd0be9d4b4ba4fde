-- What stops which model, without a reset.
SELECT DISTINCT topic, subscription, model, reason, ledger_id, entry_id
FROM answers
WHERE outcome IS NULL AND NOT after_reset
