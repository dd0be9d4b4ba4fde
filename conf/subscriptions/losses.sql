-- By message the models that do not deliver it, of all subscriptions; a model may be asked for two types.
SELECT
  topic, chunk_uuid, publish_time_ms,
  array_sort(collect_list(struct(subscription, after_reset, model, outcome, reason))) AS losses
FROM (
  SELECT DISTINCT topic, chunk_uuid, publish_time_ms, subscription, after_reset, model, outcome, reason
  FROM answers
  WHERE outcome IS NOT NULL
) AS each
GROUP BY topic, chunk_uuid, publish_time_ms
