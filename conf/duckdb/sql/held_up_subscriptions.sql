-- Made of conf/sql/held_up_subscriptions.sql (4f284572e9b8afd5) by `make docs`; do not edit.
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
    UNNEST(holdups) AS reason
  FROM subscriptions
) AS each_reason
