-- Who still holds the bytes of each stored ledger: subscriptions that have not acknowledged it, replicators, compaction, pointers to internal ledgers, retention; one row for each holder.
WITH policies AS (
  SELECT
    cluster,
    about_topic AS topic,
    CAST(get_json_object(policies, '$.retentionPolicies.retentionTimeInMinutes') AS bigint) AS minutes,
    CAST(get_json_object(policies, '$.retentionPolicies.retentionSizeInMB') AS bigint) AS mebibytes,
    CAST(get_json_object(policies, '$.messageTTLInSeconds') AS bigint) AS ttl_seconds
  FROM topic_policies
  WHERE is_current AND coalesce(is_global, FALSE) = FALSE
),

saved AS (
  SELECT
    cluster,
    topic,
    saved_time,
    CAST(get_json_object(state, '$.retention.minutes') AS bigint) AS minutes,
    CAST(get_json_object(state, '$.retention.megabytes') AS bigint) AS mebibytes,
    CAST(get_json_object(state, '$.ttl_seconds') AS bigint) AS ttl_seconds
  FROM saved_states
),

stored AS (
  SELECT
    cluster,
    topic,
    ledger_id,
    kind,
    data_bytes AS bytes,
    expected_entries,
    ledger_state,
    closed_time,
    last_ledger_id,
    CASE WHEN minutes > 52560000 THEN 52560000 ELSE minutes END AS minutes,
    mebibytes,
    whose_policy,
    CASE WHEN ttl_seconds BETWEEN 1 AND 2147483647 THEN ttl_seconds END AS ttl_seconds,
    unix_millis(saved_time) - unix_millis(closed_time) AS closed_for_ms
  FROM (
    SELECT
      l.cluster, l.topic, l.ledger_id, l.kind, l.data_bytes, l.expected_entries, l.ledger_state, l.closed_time,
      v.saved_time,
      max(l.ledger_id) OVER (PARTITION BY l.cluster, l.topic) AS last_ledger_id,
      coalesce(p.minutes, v.minutes) AS minutes,
      CASE WHEN p.minutes IS NULL THEN v.mebibytes ELSE p.mebibytes END AS mebibytes,
      CASE WHEN p.minutes IS NULL THEN 'the retention in force' ELSE 'a policy of the topic' END AS whose_policy,
      coalesce(p.ttl_seconds, v.ttl_seconds) AS ttl_seconds
    FROM ledgers AS l
    LEFT JOIN policies AS p ON l.cluster = p.cluster AND regexp_replace(l.topic, '-partition-[0-9]+$', '') = p.topic
    LEFT JOIN saved AS v ON l.cluster = v.cluster AND l.topic = v.topic
    WHERE l.selected AND l.topic IS NOT NULL
  ) AS with_policies
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
      'acknowledged up to ', CAST(s.mark_delete_ledger_id AS string), ':', CAST(s.mark_delete_entry_id AS string),
      CASE
        WHEN s.kind IN ('subscription', 'replicator') AND l.closed_for_ms - l.ttl_seconds * 1000 > 3600000
          THEN concat('; by the TTL of ', CAST(l.ttl_seconds AS string), ' seconds what is left should have expired')
        ELSE ''
      END
    ) AS evidence,
    CASE
      WHEN s.kind IN ('subscription', 'replicator') THEN l.closed_for_ms - l.ttl_seconds * 1000
    END AS overdue_ms
  FROM stored AS l
  INNER JOIN subscriptions AS s ON l.cluster = s.cluster AND l.topic = s.topic
  WHERE
    s.state <> 'unknown'
    AND s.kind <> 'reader'
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
    'the newest ledger of the topic, and nothing says that it was closed' AS evidence, CAST(NULL AS bigint) AS overdue_ms
  FROM stored
  WHERE ledger_id = last_ledger_id AND (ledger_state = 'OPEN' OR expected_entries IS NULL)
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
      WHEN l.minutes < 0 THEN 'retention'
      WHEN l.closed_for_ms - l.minutes * 60000 > 3600000 THEN 'overdue'
      WHEN l.minutes IS NOT NULL AND l.closed_for_ms IS NOT NULL THEN 'retention'
      ELSE 'retention_or_nobody'
    END AS holder_kind,
    CAST(NULL AS string) AS holder,
    CASE
      WHEN d.topic IS NOT NULL OR j.topic IS NULL THEN 'where the subscriptions of the topic are, is not known'
      WHEN l.minutes < 0 AND l.mebibytes >= 0 THEN
        concat(l.whose_policy, ' keeps it while the topic has no more than ', CAST(l.mebibytes AS string), ' MiB')
      WHEN l.minutes < 0 THEN concat(l.whose_policy, ' keeps it for ever')
      WHEN l.closed_for_ms - l.minutes * 60000 > 3600000 THEN
        concat(
          'no cursor needs it; ', l.whose_policy, ' keeps it for ', CAST(l.minutes AS string),
          ' minutes after it was closed, which was over ',
          CAST(CAST(floor(l.closed_for_ms / 3600000) AS bigint) AS string), ' hours before the state was saved'
        )
      WHEN l.minutes IS NOT NULL THEN
        concat('no cursor needs it; ', l.whose_policy, ' keeps it for ', CAST(l.minutes AS string), ' minutes after it was closed')
      ELSE 'no cursor needs it; the policies of the namespace are not known'
    END AS evidence,
    CASE
      WHEN d.topic IS NULL AND j.topic IS NOT NULL AND l.minutes >= 0 THEN l.closed_for_ms - l.minutes * 60000
    END AS overdue_ms
  FROM stored AS l
  LEFT ANTI JOIN known AS k ON l.cluster = k.cluster AND l.topic = k.topic AND l.ledger_id = k.ledger_id
  LEFT JOIN judged AS j ON l.cluster = j.cluster AND l.topic = j.topic
  LEFT JOIN doubtful AS d ON l.cluster = d.cluster AND l.topic = d.topic
),

of_messages AS (
  SELECT h.cluster, h.topic, h.ledger_id, l.kind AS stored, l.bytes, h.holder_kind, h.holder, h.evidence, h.overdue_ms
  FROM (SELECT * FROM known UNION ALL SELECT * FROM free) AS h
  INNER JOIN stored AS l ON h.cluster = l.cluster AND h.topic = l.topic AND h.ledger_id = l.ledger_id
),

internal AS (
  SELECT cluster, topic, ledger_id, stored, bytes, kind AS holder_kind, explode(holders) AS holder, reason AS evidence,
    CAST(NULL AS bigint) AS overdue_ms
  FROM internal_ledgers
  UNION ALL
  SELECT
    cluster, topic, ledger_id, stored, bytes,
    CASE verdict WHEN 'leaked' THEN 'nobody' ELSE 'not_known' END AS holder_kind, CAST(NULL AS string) AS holder,
    reason AS evidence, CAST(NULL AS bigint) AS overdue_ms
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
  CASE WHEN overdue_ms > 3600000 THEN CAST(floor(overdue_ms / 3600000) AS bigint) END AS overdue_hours,
  count(*) OVER (PARTITION BY cluster, topic, ledger_id) AS holders,
  cluster
FROM (
  SELECT * FROM of_messages
  UNION ALL
  SELECT * FROM internal
) AS every_one
ORDER BY bytes DESC NULLS LAST, cluster, topic, ledger_id, holder_kind, holder
