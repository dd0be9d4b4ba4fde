-- Who still holds the bytes of each stored ledger: subscriptions that have not acknowledged it, replicators, compaction, pointers to internal ledgers, retention; one row for each holder.
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
    max(ledger_id) OVER (PARTITION BY cluster, topic) AS last_ledger_id
  FROM ledgers
  WHERE selected AND topic IS NOT NULL
),

cursors AS (
  SELECT
    l.cluster,
    l.topic,
    l.ledger_id,
    CASE
      WHEN s.kind = 'subscription' THEN 'cursor'
      WHEN s.kind = 'replicator' AND s.subscription LIKE 'pulsar.repl-%' THEN 'shadow_topic'
      ELSE s.kind
    END AS holder_kind,
    s.subscription AS holder,
    concat(
      'acknowledged up to ', CAST(s.mark_delete_ledger_id AS string), ':', CAST(s.mark_delete_entry_id AS string)
    ) AS evidence
  FROM stored AS l
  INNER JOIN subscriptions AS s ON l.cluster = s.cluster AND l.topic = s.topic
  WHERE
    s.state <> 'unknown'
    AND (
      s.mark_delete_ledger_id < l.ledger_id
      OR (
        s.mark_delete_ledger_id = l.ledger_id
        AND (l.expected_entries IS NULL OR s.mark_delete_entry_id < l.expected_entries - 1)
      )
    )
),

current AS (
  SELECT
    cluster, topic, ledger_id, 'open_ledger' AS holder_kind, CAST(NULL AS string) AS holder,
    'the newest ledger of the topic, and nothing says that it was closed' AS evidence
  FROM stored
  WHERE ledger_id = last_ledger_id AND (ledger_state = 'OPEN' OR expected_entries IS NULL)
),

policies AS (
  SELECT
    cluster,
    about_topic AS topic,
    CAST(get_json_object(policies, '$.retentionPolicies.retentionTimeInMinutes') AS bigint) AS minutes,
    CAST(get_json_object(policies, '$.retentionPolicies.retentionSizeInMB') AS bigint) AS mebibytes
  FROM topic_policies
  WHERE is_current AND coalesce(is_global, FALSE) = FALSE
),

judged AS (
  SELECT DISTINCT cluster, topic
  FROM subscriptions
  WHERE state <> 'unknown'
),

doubtful AS (
  SELECT DISTINCT cluster, topic
  FROM subscriptions
  WHERE state = 'unknown'
),

known AS (
  SELECT * FROM cursors
  UNION ALL
  SELECT * FROM current
),

free AS (
  SELECT
    l.cluster,
    l.topic,
    l.ledger_id,
    CASE
      WHEN d.topic IS NOT NULL OR j.topic IS NULL THEN 'not_known'
      WHEN p.minutes < 0 THEN 'retention'
      WHEN l.closed_time + INTERVAL '1' MINUTE * CAST(least(p.minutes, 52560000) AS int) + INTERVAL 1 HOUR < v.saved_time THEN 'overdue'
      WHEN p.minutes IS NOT NULL AND l.closed_time IS NOT NULL AND v.saved_time IS NOT NULL THEN 'retention'
      ELSE 'retention_or_nobody'
    END AS holder_kind,
    CAST(NULL AS string) AS holder,
    CASE
      WHEN d.topic IS NOT NULL OR j.topic IS NULL THEN 'where the subscriptions of the topic are, is not known'
      WHEN p.minutes < 0 AND p.mebibytes >= 0 THEN
        concat('a policy of the topic keeps it while the topic has no more than ', CAST(p.mebibytes AS string), ' MiB')
      WHEN p.minutes < 0 THEN 'a policy of the topic keeps it for ever'
      WHEN l.closed_time + INTERVAL '1' MINUTE * CAST(least(p.minutes, 52560000) AS int) + INTERVAL 1 HOUR < v.saved_time THEN
        concat(
          'no cursor needs it; a policy of the topic keeps it for ', CAST(p.minutes AS string),
          ' minutes after it was closed, which was over ',
          CAST(CAST(floor((unix_millis(v.saved_time) - unix_millis(l.closed_time)) / 3600000) AS bigint) AS string),
          ' hours before the state was saved'
        )
      WHEN p.minutes IS NOT NULL THEN
        concat('no cursor needs it; a policy of the topic keeps it for ', CAST(p.minutes AS string), ' minutes after it was closed')
      ELSE 'no cursor needs it; the policies of the namespace are not known'
    END AS evidence
  FROM stored AS l
  LEFT ANTI JOIN known AS k ON l.cluster = k.cluster AND l.topic = k.topic AND l.ledger_id = k.ledger_id
  LEFT JOIN policies AS p ON l.cluster = p.cluster AND l.topic = p.topic
  LEFT JOIN judged AS j ON l.cluster = j.cluster AND l.topic = j.topic
  LEFT JOIN doubtful AS d ON l.cluster = d.cluster AND l.topic = d.topic
  LEFT JOIN saved_states AS v ON l.cluster = v.cluster AND l.topic = v.topic
),

of_messages AS (
  SELECT h.cluster, h.topic, h.ledger_id, l.kind AS stored, l.bytes, h.holder_kind, h.holder, h.evidence
  FROM (SELECT * FROM known UNION ALL SELECT * FROM free) AS h
  INNER JOIN stored AS l ON h.cluster = l.cluster AND h.topic = l.topic AND h.ledger_id = l.ledger_id
),

internal AS (
  SELECT cluster, topic, ledger_id, stored, bytes, kind AS holder_kind, explode(holders) AS holder, reason AS evidence
  FROM internal_ledgers
  UNION ALL
  SELECT
    cluster, topic, ledger_id, stored, bytes,
    CASE verdict WHEN 'leaked' THEN 'nobody' ELSE 'not_known' END AS holder_kind, CAST(NULL AS string) AS holder,
    reason AS evidence
  FROM internal_ledgers
  WHERE size(holders) = 0
)

SELECT
  topic,
  ledger_id,
  stored,
  bytes,
  holder_kind,
  holder,
  evidence,
  count(*) OVER (PARTITION BY cluster, topic, ledger_id) AS holders,
  cluster
FROM (
  SELECT * FROM of_messages
  UNION ALL
  SELECT * FROM internal
) AS every_one
ORDER BY bytes DESC NULLS LAST, cluster, topic, ledger_id, holder_kind, holder
