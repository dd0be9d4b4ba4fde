-- Made of conf/log/unproven_seams.sql (931f8917cbbf7fdd) by `make docs`; do not edit.
SELECT
  topic,
  ledger_id
FROM (
  SELECT
    topic,
    ledger_id,
    last_entry_index,
    LEAD(first_message_index) OVER (PARTITION BY topic ORDER BY ledger_id) AS next_index
  FROM ledger_facts
  WHERE
    NOT topic IS NULL AND entries > 0
) AS seams
WHERE
  NOT COALESCE(
    CAST(next_index AS DECIMAL(20, 0)) = CAST(last_entry_index AS DECIMAL(20, 0)) + 1,
    FALSE
  )
