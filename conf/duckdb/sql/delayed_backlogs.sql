-- Made of conf/sql/delayed_backlogs.sql (5bfc8b36e5f33098) by `make docs`; do not edit.
WITH delayed AS (
  SELECT
    cluster,
    topic,
    ledger_id,
    entry_id,
    deliver_at_time
  FROM entries AS e
  WHERE
    NOT deliver_at_time IS NULL
    AND marker_type IS NULL
    AND NOT EXISTS(SELECT
      1
    FROM gone_ledgers AS g
    WHERE
      e.cluster = g.cluster AND e.ledger_id = g.ledger_id)
), readers AS (
  SELECT
    cluster,
    topic,
    subscription,
    subscription_type,
    state,
    backlog_entries,
    COALESCE(
      CASE WHEN holdups IS NULL THEN NULL WHEN LIST_CONTAINS(LIST_TRANSFORM(holdups, LAMBDA one : one.kind = 'delayed'), TRUE) THEN TRUE WHEN LEN(LIST_FILTER(LIST_TRANSFORM(holdups, LAMBDA one : one.kind = 'delayed'), LAMBDA _u : _u IS NULL)) > 0 THEN NULL ELSE FALSE END,
      FALSE
    ) AS broker_says
  FROM subscriptions
  WHERE
    kind = 'subscription'
), counts AS (
  SELECT
    s.cluster,
    s.topic,
    s.subscription,
    s.subscription_type,
    s.state,
    s.backlog_entries,
    s.broker_says,
    COALESCE(v.saved_time, v.read_time) AS saved_time,
    CAST(COUNT(*) AS BIGINT) AS delayed_entries,
    CAST(COUNT(CASE WHEN d.deliver_at_time > COALESCE(v.saved_time, v.read_time) THEN 1 END) AS BIGINT) AS waiting_entries,
    MIN(
      CASE
        WHEN d.deliver_at_time > COALESCE(v.saved_time, v.read_time)
        THEN d.deliver_at_time
      END
    ) AS next_time,
    MAX(d.deliver_at_time) AS last_time
  FROM delayed AS d
  INNER JOIN ack_ranges AS r
    ON d.cluster = r.cluster
    AND d.topic = r.topic
    AND d.ledger_id = r.ledger_id
    AND d.entry_id BETWEEN r.first_entry_id AND r.last_entry_id
  INNER JOIN readers AS s
    ON r.cluster = s.cluster AND r.topic = s.topic AND r.subscription = s.subscription
  LEFT JOIN saved_states AS v
    ON d.cluster = v.cluster AND d.topic = v.topic
  GROUP BY
    s.cluster,
    s.topic,
    s.subscription,
    s.subscription_type,
    s.state,
    s.backlog_entries,
    s.broker_says,
    COALESCE(v.saved_time, v.read_time)
)
SELECT
  topic,
  subscription,
  verdict,
  CASE
    WHEN verdict = 'not_delayed'
    THEN CASE subscription_type WHEN 'Exclusive' THEN 'an ' ELSE 'a ' END || subscription_type || ' subscription delays nothing'
    WHEN saved_time IS NULL
    THEN 'no state of the topic was saved'
    WHEN verdict = 'cannot_tell'
    THEN 'its type, or what it has acknowledged, is not known'
    WHEN verdict = 'due'
    THEN 'the time of some had come when the state was saved'
    WHEN verdict = 'partly'
    THEN 'some of what is left is not delayed'
    ELSE 'delayed until ' || STRFTIME(CAST(CAST(next_time AS TIMESTAMP) AS TIMESTAMP), '%Y-%m-%d %H:%M:%S') || ' UTC, the last until ' || STRFTIME(CAST(CAST(last_time AS TIMESTAMP) AS TIMESTAMP), '%Y-%m-%d %H:%M:%S') || ' UTC'
  END AS reason,
  subscription_type,
  backlog_entries,
  delayed_entries,
  waiting_entries,
  next_time,
  last_time,
  saved_time,
  broker_says,
  cluster
FROM (
  SELECT
    *,
    CASE
      WHEN subscription_type IN ('Exclusive', 'Failover')
      THEN 'not_delayed'
      WHEN saved_time IS NULL OR state <> 'whole' OR backlog_entries IS NULL
      THEN 'cannot_tell'
      WHEN waiting_entries < delayed_entries
      THEN 'due'
      WHEN waiting_entries < backlog_entries
      THEN 'partly'
      WHEN subscription_type IN ('Shared', 'Key_Shared')
      THEN 'delayed_until'
      ELSE 'cannot_tell'
    END AS verdict
  FROM counts
) AS judged
ORDER BY
  next_time NULLS LAST,
  cluster,
  topic,
  subscription
