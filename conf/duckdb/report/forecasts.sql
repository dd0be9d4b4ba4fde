-- Made of conf/report/forecasts.sql (b26ef0c0e5a4bafe) by `make docs`; do not edit.
SELECT
  topic,
  model,
  builds,
  publications,
  delivered,
  delivered_again,
  mixed,
  wrong_content,
  silent_loss,
  lost,
  dropped,
  hole,
  waiting,
  blocked,
  breaks_client,
  holes,
  permits_kept,
  peak_open_contexts,
  peak_buffered_bytes,
  damage,
  damage_ledger_id,
  damage_entry_id,
  damage_reason,
  sureness
FROM (
  SELECT
    f.*,
    ROW_NUMBER() OVER (PARTITION BY f.topic ORDER BY f.model) AS number
  FROM client_forecasts AS f
  SEMI JOIN chosen AS c
    ON f.topic IS NOT DISTINCT FROM c.topic
) AS numbered
WHERE
  number <= $models
ORDER BY
  topic,
  model
