-- Made of conf/changes/present.sql (79274e279901bc05) by `make docs`; do not edit.
WITH wrong AS (
  SELECT
    'finding' AS kind,
    code,
    severity,
    topic,
    CAST(NULL AS TEXT) AS subscription,
    subject,
    ledger_id,
    message,
    count,
    code AS own_code,
    '' AS own_topic
  FROM findings
  UNION ALL
  SELECT
    'stall' AS kind,
    code,
    $stall_severity AS severity,
    topic,
    subscription,
    chunk_uuid || ' @ ' || CAST(publish_time_ms AS TEXT) AS subject,
    last_ledger_id AS ledger_id,
    advice AS message,
    unacked_entries AS count,
    '' AS own_code,
    topic AS own_topic
  FROM stalls
  WHERE
    NOT code IS NULL
  UNION ALL
  SELECT
    'lost_message' AS kind,
    $state_code AS code,
    CASE sureness
      WHEN 'cannot_tell'
      THEN $unsure_severity
      ELSE $state_severity
    END AS severity,
    topic,
    CAST(NULL AS TEXT) AS subscription,
    chunk_uuid || ' @ ' || CAST(publish_time_ms AS TEXT) AS subject,
    last_ledger_id AS ledger_id,
    'Of a chunked message ' || CAST(present_chunks AS TEXT) || ' of ' || CAST(num_chunks AS TEXT) || ' chunks are stored (' || state || '), and it cannot be rebuilt.' AS message,
    missing_chunk_count AS count,
    '' AS own_code,
    topic AS own_topic
  FROM chunked_messages
  WHERE
    NOT rebuildable
    AND (
      state IN ($complete)
      OR (
        state IN ($incomplete)
        AND NOT ARRAY_CONTAINS(flags, $no_loss)
      )
    )
  UNION ALL
  SELECT
    'quality' AS kind,
    rule AS code,
    severity,
    CAST(NULL AS TEXT) AS topic,
    CAST(NULL AS TEXT) AS subscription,
    rule AS subject,
    CAST(NULL AS BIGINT) AS ledger_id,
    sentence AS message,
    failed AS count,
    rule AS own_code,
    '' AS own_topic
  FROM quality_results
  WHERE
    NOT passed
), parts AS (
  SELECT
    *,
    COALESCE(own_topic, '') AS topic_part,
    COALESCE(subscription, '') AS subscription_part
  FROM wrong
), named AS (
  SELECT
    *,
    SHA256(
      CAST(LENGTH(kind) AS TEXT) || ':' || kind || CAST(LENGTH(own_code) AS TEXT) || ':' || own_code || CAST(LENGTH(topic_part) AS TEXT) || ':' || topic_part || CAST(LENGTH(subscription_part) AS TEXT) || ':' || subscription_part || CAST(LENGTH(subject) AS TEXT) || ':' || subject
    ) AS identity
  FROM parts
), ranked AS (
  SELECT
    *,
    CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END AS severity_rank,
    ROW_NUMBER() OVER (
      PARTITION BY identity
      ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, count DESC, message
    ) AS nth
  FROM named
), covered AS (
  SELECT
    r.identity,
    a.owner,
    a.last_day,
    ROW_NUMBER() OVER (PARTITION BY r.identity ORDER BY a.last_day DESC, a.owner) AS nth
  FROM (
    SELECT
      identity,
      code,
      subject,
      topic
    FROM ranked
    WHERE
      nth = 1
  ) AS r
  INNER JOIN acknowledgements AS a
    ON (
      a.code = '*' OR r.code = a.code
    )
    AND (
      r.subject LIKE a.pattern ESCAPE '!' OR r.topic LIKE a.pattern ESCAPE '!'
    )
)
SELECT
  r.identity,
  r.kind,
  r.code,
  r.severity,
  r.severity_rank,
  r.topic,
  r.subscription,
  r.subject,
  r.ledger_id,
  r.message,
  r.count,
  c.owner AS acknowledged_by,
  c.last_day AS acknowledged_until
FROM ranked AS r
LEFT JOIN covered AS c
  ON r.identity = c.identity AND c.nth = 1
WHERE
  r.nth = 1
