-- Subscriptions that did not drain when their statistics were saved: every reason that shows, with its evidence and what to do.
SELECT
  cluster,
  topic,
  subscription,
  subscription_type,
  consumers,
  backlog_entries,
  reason.kind AS kind,
  reason.code AS code,
  reason.sureness AS sureness,
  reason.evidence AS evidence,
  reason.remedy AS remedy,
  reason.advice AS advice
FROM (
  SELECT
    cluster,
    topic,
    subscription,
    subscription_type,
    consumers,
    backlog_entries,
    explode(holdups) AS reason
  FROM subscriptions
) AS each_reason
