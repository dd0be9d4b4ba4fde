-- Made of conf/subscriptions/losses.sql (6a64a59d1cfde834) by `make docs`; do not edit.
SELECT
  topic,
  chunk_uuid,
  publish_time_ms,
  LIST_SORT(COALESCE(LIST({'subscription': subscription, 'after_reset': after_reset, 'model': model, 'outcome': outcome, 'reason': reason}) FILTER (WHERE {'subscription': subscription, 'after_reset': after_reset, 'model': model, 'outcome': outcome, 'reason': reason} IS NOT NULL), []), 'ASC', 'NULLS LAST') AS losses
FROM (
  SELECT DISTINCT
    topic,
    chunk_uuid,
    publish_time_ms,
    subscription,
    after_reset,
    model,
    outcome,
    reason
  FROM answers
  WHERE
    NOT outcome IS NULL
) AS each
GROUP BY
  topic,
  chunk_uuid,
  publish_time_ms
