-- Made of conf/sql/ledger_holders.sql (6c7a06fe03250cef) by `make docs`; do not edit.
WITH stored AS (
  SELECT
    cluster,
    topic,
    ledger_id,
    kind,
    data_bytes AS bytes,
    expected_entries,
    ledger_state,
    closed_time,
    MAX(ledger_id) OVER (PARTITION BY cluster, topic) AS last_ledger_id
  FROM ledgers
  WHERE
    selected AND NOT topic IS NULL
), cursors AS (
  SELECT
    l.cluster,
    l.topic,
    l.ledger_id,
    CASE
      WHEN s.kind = 'subscription'
      THEN 'cursor'
      WHEN s.kind = 'replicator' AND s.subscription LIKE 'pulsar.repl-%'
      THEN 'shadow_topic'
      ELSE s.kind
    END AS holder_kind,
    s.subscription AS holder,
    'acknowledged up to ' || CAST(s.mark_delete_ledger_id AS TEXT) || ':' || CAST(s.mark_delete_entry_id AS TEXT) AS evidence
  FROM stored AS l
  INNER JOIN subscriptions AS s
    ON l.cluster = s.cluster AND l.topic = s.topic
  WHERE
    s.state <> 'unknown'
    AND (
      s.mark_delete_ledger_id < l.ledger_id
      OR (
        s.mark_delete_ledger_id = l.ledger_id
        AND (
          l.expected_entries IS NULL OR s.mark_delete_entry_id < l.expected_entries - 1
        )
      )
    )
), current AS (
  SELECT
    cluster,
    topic,
    ledger_id,
    'open_ledger' AS holder_kind,
    CAST(NULL AS TEXT) AS holder,
    'the newest ledger of the topic, and nothing says that it was closed' AS evidence
  FROM stored
  WHERE
    ledger_id = last_ledger_id
    AND (
      ledger_state = 'OPEN' OR expected_entries IS NULL
    )
), policies AS (
  SELECT
    cluster,
    about_topic AS topic,
    CAST(policies ->> '$.retentionPolicies.retentionTimeInMinutes' AS BIGINT) AS minutes,
    CAST(policies ->> '$.retentionPolicies.retentionSizeInMB' AS BIGINT) AS mebibytes
  FROM topic_policies
  WHERE
    is_current AND COALESCE(is_global, FALSE) = FALSE
), judged AS (
  SELECT DISTINCT
    cluster,
    topic
  FROM subscriptions
  WHERE
    state <> 'unknown'
), doubtful AS (
  SELECT DISTINCT
    cluster,
    topic
  FROM subscriptions
  WHERE
    state = 'unknown'
), known AS (
  SELECT
    *
  FROM cursors
  UNION ALL
  SELECT
    *
  FROM current
), free AS (
  SELECT
    l.cluster,
    l.topic,
    l.ledger_id,
    CASE
      WHEN NOT d.topic IS NULL OR j.topic IS NULL
      THEN 'not_known'
      WHEN p.minutes < 0
      THEN 'retention'
      WHEN l.closed_time + INTERVAL '1' MINUTE * CAST(TRUNC(LEAST(p.minutes, 52560000)) AS INT) + INTERVAL '1' HOUR < v.saved_time
      THEN 'overdue'
      WHEN NOT p.minutes IS NULL AND NOT l.closed_time IS NULL AND NOT v.saved_time IS NULL
      THEN 'retention'
      ELSE 'retention_or_nobody'
    END AS holder_kind,
    CAST(NULL AS TEXT) AS holder,
    CASE
      WHEN NOT d.topic IS NULL OR j.topic IS NULL
      THEN 'where the subscriptions of the topic are, is not known'
      WHEN p.minutes < 0 AND p.mebibytes >= 0
      THEN 'a policy of the topic keeps it while the topic has no more than ' || CAST(p.mebibytes AS TEXT) || ' MiB'
      WHEN p.minutes < 0
      THEN 'a policy of the topic keeps it for ever'
      WHEN l.closed_time + INTERVAL '1' MINUTE * CAST(TRUNC(LEAST(p.minutes, 52560000)) AS INT) + INTERVAL '1' HOUR < v.saved_time
      THEN 'no cursor needs it; a policy of the topic keeps it for ' || CAST(p.minutes AS TEXT) || ' minutes after it was closed, which was over ' || CAST(CAST(FLOOR((
        EPOCH_MS(v.saved_time) - EPOCH_MS(l.closed_time)
      ) / NULLIF(3600000, 0)) AS BIGINT) AS TEXT) || ' hours before the state was saved'
      WHEN NOT p.minutes IS NULL
      THEN 'no cursor needs it; a policy of the topic keeps it for ' || CAST(p.minutes AS TEXT) || ' minutes after it was closed'
      ELSE 'no cursor needs it; the policies of the namespace are not known'
    END AS evidence
  FROM stored AS l
  ANTI JOIN known AS k
    ON l.cluster = k.cluster AND l.topic = k.topic AND l.ledger_id = k.ledger_id
  LEFT JOIN policies AS p
    ON l.cluster = p.cluster AND l.topic = p.topic
  LEFT JOIN judged AS j
    ON l.cluster = j.cluster AND l.topic = j.topic
  LEFT JOIN doubtful AS d
    ON l.cluster = d.cluster AND l.topic = d.topic
  LEFT JOIN saved_states AS v
    ON l.cluster = v.cluster AND l.topic = v.topic
), of_messages AS (
  SELECT
    h.cluster,
    h.topic,
    h.ledger_id,
    l.kind AS stored,
    l.bytes,
    h.holder_kind,
    h.holder,
    h.evidence
  FROM (
    SELECT
      *
    FROM known
    UNION ALL
    SELECT
      *
    FROM free
  ) AS h
  INNER JOIN stored AS l
    ON h.cluster = l.cluster AND h.topic = l.topic AND h.ledger_id = l.ledger_id
), internal AS (
  SELECT
    cluster,
    topic,
    ledger_id,
    stored,
    bytes,
    kind AS holder_kind,
    UNNEST(holders) AS holder,
    reason AS evidence
  FROM internal_ledgers
  UNION ALL
  SELECT
    cluster,
    topic,
    ledger_id,
    stored,
    bytes,
    CASE verdict WHEN 'leaked' THEN 'nobody' ELSE 'not_known' END AS holder_kind,
    CAST(NULL AS TEXT) AS holder,
    reason AS evidence
  FROM internal_ledgers
  WHERE
    ARRAY_LENGTH(holders) = 0
)
SELECT
  topic,
  ledger_id,
  stored,
  bytes,
  holder_kind,
  holder,
  evidence,
  COUNT(*) OVER (PARTITION BY cluster, topic, ledger_id) AS holders,
  cluster
FROM (
  SELECT
    *
  FROM of_messages
  UNION ALL
  SELECT
    *
  FROM internal
) AS every_one
ORDER BY
  bytes DESC,
  cluster,
  topic,
  ledger_id,
  holder_kind,
  holder
