-- All that the audit's tables call wrong now, a row for each identity.
WITH wrong AS (
  SELECT
    'finding' AS kind, code, severity, topic, CAST(NULL AS string) AS subscription, subject, ledger_id, message, count,
    code AS own_code, '' AS own_topic
  FROM findings

  UNION ALL

  SELECT
    'stall' AS kind, code, $stall_severity AS severity, topic, subscription,
    concat(chunk_uuid, ' @ ', CAST(publish_time_ms AS string)) AS subject, last_ledger_id AS ledger_id, advice AS message,
    unacked_entries AS count, '' AS own_code, topic AS own_topic
  FROM stalls
  WHERE code IS NOT NULL

  UNION ALL

  SELECT
    'lost_message' AS kind, $state_code AS code,
    CASE sureness WHEN 'cannot_tell' THEN $unsure_severity ELSE $state_severity END AS severity, topic,
    CAST(NULL AS string) AS subscription, concat(chunk_uuid, ' @ ', CAST(publish_time_ms AS string)) AS subject,
    last_ledger_id AS ledger_id,
    concat(
      'Of a chunked message ', CAST(present_chunks AS string), ' of ', CAST(num_chunks AS string), ' chunks are stored (',
      state, '), and it cannot be rebuilt.'
    ) AS message,
    missing_chunk_count AS count, '' AS own_code, topic AS own_topic
  FROM chunked_messages
  WHERE
    NOT rebuildable
    AND (state IN ($complete) OR (state IN ($incomplete) AND NOT array_contains(flags, $no_loss)))

  UNION ALL

  SELECT
    'quality' AS kind, rule AS code, severity, CAST(NULL AS string) AS topic, CAST(NULL AS string) AS subscription,
    rule AS subject, CAST(NULL AS bigint) AS ledger_id, sentence AS message, failed AS count,
    rule AS own_code, '' AS own_topic
  FROM quality_results
  WHERE NOT passed
),

parts AS (
  SELECT
    *,
    coalesce(own_topic, '') AS topic_part,
    coalesce(subscription, '') AS subscription_part
  FROM wrong
),

-- Each part with its length before it: no two lists of parts give the same text.
named AS (
  SELECT
    *,
    sha2(
      concat(
        CAST(length(kind) AS string), ':', kind, CAST(length(own_code) AS string), ':', own_code,
        CAST(length(topic_part) AS string), ':', topic_part,
        CAST(length(subscription_part) AS string), ':', subscription_part,
        CAST(length(subject) AS string), ':', subject
      ),
      256
    ) AS identity
  FROM parts
),

ranked AS (
  SELECT
    *,
    CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END AS severity_rank,
    row_number() OVER (
      PARTITION BY identity
      ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, count DESC, message
    ) AS nth
  FROM named
),

covered AS (
  SELECT
    r.identity, a.owner, a.last_day,
    row_number() OVER (PARTITION BY r.identity ORDER BY a.last_day DESC, a.owner) AS nth
  FROM (SELECT identity, code, subject, topic FROM ranked WHERE nth = 1) AS r
  INNER JOIN acknowledgements AS a
    ON (a.code = '*' OR r.code = a.code)
    AND (r.subject LIKE a.pattern ESCAPE '!' OR r.topic LIKE a.pattern ESCAPE '!')
)

SELECT
  r.identity, r.kind, r.code, r.severity, r.severity_rank, r.topic, r.subscription, r.subject, r.ledger_id, r.message,
  r.count, c.owner AS acknowledged_by, c.last_day AS acknowledged_until
FROM ranked AS r
LEFT JOIN covered AS c ON r.identity = c.identity AND c.nth = 1
WHERE r.nth = 1
