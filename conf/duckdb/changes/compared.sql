-- Made of conf/changes/compared.sql (3c210659cea45202) by `make docs`; do not edit.
WITH unread AS (
  SELECT DISTINCT
    topic
  FROM findings
  WHERE
    incomplete
), whole AS (
  SELECT
    COUNT(*) AS unread_topics,
    COUNT(*) FILTER(WHERE
      topic IS NULL) AS unread_places
  FROM unread
), losing AS (
  SELECT
    g.topic,
    MAX(g.gone_time) AS gone_time,
    COUNT(l.topic) = 0 AS is_gone
  FROM gone_ledgers AS g
  LEFT JOIN (
    SELECT DISTINCT
      topic
    FROM ledgers
    WHERE
      selected
  ) AS l
    ON g.topic = l.topic
  WHERE
    NOT g.topic IS NULL
  GROUP BY
    g.topic
), anywhere AS (
  SELECT
    MAX(gone_time) AS gone_time
  FROM gone_ledgers
), readers AS (
  SELECT DISTINCT
    topic,
    subscription
  FROM subscriptions
), earlier AS (
  SELECT
    *,
    run_id = $unfinished AS is_untold,
    CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END AS severity_rank
  FROM problems
), paired AS (
  SELECT
    NOT n.identity IS NULL AS is_present,
    NOT p.identity IS NULL AS was_there,
    COALESCE(n.identity, p.identity) AS identity,
    COALESCE(n.kind, p.kind) AS kind,
    COALESCE(n.code, p.code) AS code,
    COALESCE(n.severity, p.severity) AS severity,
    CASE WHEN n.identity IS NULL THEN p.topic ELSE n.topic END AS topic,
    CASE WHEN n.identity IS NULL THEN p.subscription ELSE n.subscription END AS subscription,
    COALESCE(n.subject, p.subject) AS subject,
    CASE WHEN n.identity IS NULL THEN p.ledger_id ELSE n.ledger_id END AS ledger_id,
    COALESCE(n.message, p.message) AS message,
    COALESCE(n.count, p.count) AS count,
    CASE WHEN p.is_untold THEN p.count_before ELSE p.count END AS count_before,
    COALESCE(p.news_count, p.count) AS news_count,
    n.severity_rank < p.severity_rank
    OR n.count >= 2 * GREATEST(COALESCE(p.news_count, p.count), 1)
    OR (
      p.is_untold AND p.change = 'worse'
    ) AS is_worse,
    NOT COALESCE(p.healed_at, p.gone_at) IS NULL AS was_over,
    COALESCE(p.is_untold, FALSE) AS is_untold,
    p.change AS change_before,
    p.reason AS reason_before,
    p.run_id AS run_before,
    p.compared_at AS compared_before,
    p.first_seen,
    p.last_seen,
    p.healed_at,
    p.gone_at,
    p.times_back,
    NOT n.identity IS NULL
    AND NOT p.acknowledged_by IS NULL
    AND n.acknowledged_by IS NULL AS acknowledgement_ended,
    CASE WHEN n.identity IS NULL THEN p.acknowledged_by ELSE n.acknowledged_by END AS acknowledged_by,
    CASE WHEN n.identity IS NULL THEN p.acknowledged_until ELSE n.acknowledged_until END AS acknowledged_until
  FROM present AS n
  FULL JOIN earlier AS p
    ON n.identity = p.identity
), judged AS (
  SELECT
    d.*,
    NOT u.topic IS NULL
    OR w.unread_places > 0
    OR (
      d.topic IS NULL AND w.unread_topics > 0
    ) AS is_unread,
    CASE
      WHEN d.code IN ($passing)
      THEN 'it was said of one audit only'
      WHEN g.expected
      THEN 'its ledger was trimmed, as the saved policies let it'
      WHEN NOT g.ledger_id IS NULL
      THEN 'its ledger is no longer in the source'
      WHEN t.is_gone
      THEN 'its topic is no longer in the source'
      WHEN d.kind = 'stall' AND r.topic IS NULL
      THEN 'its subscription is no longer in the saved state'
    END AS gone_with,
    CASE
      WHEN d.topic IS NULL AND e.gone_time > d.last_seen
      THEN 'not found any more, and ledgers left the source since'
      WHEN t.gone_time > d.last_seen
      THEN 'not found any more, and ledgers of its topic left the source since'
    END AS gone_perhaps
  FROM paired AS d
  CROSS JOIN whole AS w
  CROSS JOIN anywhere AS e
  LEFT JOIN unread AS u
    ON d.topic = u.topic
  LEFT JOIN gone_ledgers AS g
    ON d.ledger_id = g.ledger_id
  LEFT JOIN losing AS t
    ON d.topic = t.topic
  LEFT JOIN readers AS r
    ON d.topic = r.topic AND d.subscription = r.subscription
), decided AS (
  SELECT
    *,
    CASE
      WHEN NOT was_there
      THEN 'new'
      WHEN NOT is_present AND was_over
      THEN CASE WHEN gone_at IS NULL THEN 'healed' ELSE 'gone' END
      WHEN NOT is_present AND NOT gone_with IS NULL
      THEN 'gone'
      WHEN NOT is_present AND is_unread
      THEN 'unsure'
      WHEN NOT is_present AND NOT gone_perhaps IS NULL
      THEN 'gone'
      WHEN NOT is_present
      THEN 'healed'
      WHEN is_untold AND change_before IN ('new', 'back')
      THEN change_before
      WHEN was_over AND NOT is_untold
      THEN 'back'
      WHEN acknowledgement_ended
      THEN 'back'
      WHEN is_worse
      THEN 'worse'
      ELSE 'still'
    END AS change
  FROM judged
)
SELECT
  identity,
  kind,
  code,
  severity,
  topic,
  subscription,
  subject,
  ledger_id,
  message,
  count,
  count_before,
  change,
  CASE
    WHEN NOT is_present AND was_over
    THEN reason_before
    WHEN change = 'unsure'
    THEN 'not found, but not everything was read'
    WHEN change = 'gone'
    THEN COALESCE(gone_with, gone_perhaps)
    WHEN change = 'healed'
    THEN 'not found any more'
    WHEN change = 'back' AND acknowledgement_ended AND NOT was_over
    THEN 'its acknowledgement ended'
    WHEN change = 'back'
    THEN COALESCE(CASE WHEN is_untold THEN reason_before END, 'found again')
  END AS reason,
  CASE
    WHEN NOT is_present AND was_over AND NOT is_untold
    THEN run_before
    ELSE $run_id
  END AS run_id,
  CASE
    WHEN NOT is_present AND was_over AND NOT is_untold
    THEN compared_before
    ELSE CAST(EPOCH_MS(CAST($at_ms AS BIGINT)) AS TIMESTAMPTZ)
  END AS compared_at,
  COALESCE(first_seen, CAST(EPOCH_MS(CAST($at_ms AS BIGINT)) AS TIMESTAMPTZ)) AS first_seen,
  CASE
    WHEN is_present
    THEN CAST(EPOCH_MS(CAST($at_ms AS BIGINT)) AS TIMESTAMPTZ)
    ELSE last_seen
  END AS last_seen,
  CASE
    WHEN change = 'healed'
    THEN COALESCE(healed_at, CAST(EPOCH_MS(CAST($at_ms AS BIGINT)) AS TIMESTAMPTZ))
  END AS healed_at,
  CAST(COALESCE(times_back, 0) + CASE WHEN is_present AND was_over AND NOT is_untold THEN 1 ELSE 0 END AS BIGINT) AS times_back,
  acknowledged_by,
  acknowledged_until,
  CASE
    WHEN change = 'gone'
    THEN COALESCE(gone_at, CAST(EPOCH_MS(CAST($at_ms AS BIGINT)) AS TIMESTAMPTZ))
  END AS gone_at,
  CASE WHEN change IN ('new', 'back', 'worse') THEN count ELSE news_count END AS news_count
FROM decided
