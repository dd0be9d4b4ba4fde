-- Made of conf/report/topics.sql (7ba76a54e41c1e8b) by `make docs`; do not edit.
WITH of_entries AS (
  SELECT
    f.topic,
    CAST(SUM(f.entries) AS BIGINT) AS entries,
    CAST(SUM(f.messages) AS BIGINT) AS single_messages,
    CAST(SUM(f.bytes) AS BIGINT) AS bytes,
    MIN(f.oldest_stored_ms) AS first_ms,
    MAX(f.newest_stored_ms) AS last_ms,
    BOOL_AND(CAST(f.broker_timestamps = f.entries AS BOOLEAN)) AS by_broker,
    CAST(SUM(f.entries_with_uuid) AS BIGINT) AS chunk_entries
  FROM ledger_facts AS f
  WHERE
    f.entries > 0
  GROUP BY
    f.topic
), of_scans AS (
  SELECT
    s.topic,
    CAST(SUM(s.rejected) AS BIGINT) AS rejected
  FROM scans AS s
  GROUP BY
    s.topic
), of_messages AS (
  SELECT
    topic,
    COUNT(*) AS chunked
  FROM chunked_messages
  GROUP BY
    topic
), of_findings AS (
  SELECT
    topic,
    COUNT(CASE WHEN severity = 'error' THEN 1 END) AS errors,
    COUNT(CASE WHEN severity = 'warning' THEN 1 END) AS warnings
  FROM findings
  GROUP BY
    topic
), of_blocked AS (
  SELECT
    topic,
    MIN(blocked_place) AS blocked_place
  FROM standing
  WHERE
    NOT blocked_place IS NULL
  GROUP BY
    topic
)
SELECT
  t.topic,
  e.entries,
  e.single_messages,
  e.bytes,
  e.first_ms,
  e.last_ms,
  e.by_broker,
  e.chunk_entries,
  s.rejected,
  m.chunked,
  f.errors,
  NOT b.blocked_place IS NULL OR f.errors > 0 OR f.warnings > 0 AS is_wrong,
  ROW_NUMBER() OVER (
    ORDER BY b.blocked_place IS NULL, b.blocked_place, COALESCE(f.errors, 0) DESC, COALESCE(f.warnings, 0) = 0, COALESCE(e.bytes, 0) DESC, LENGTH(t.topic), t.topic
  ) AS place
FROM (
  SELECT DISTINCT
    topic
  FROM ledgers
) AS t
LEFT JOIN of_entries AS e
  ON t.topic IS NOT DISTINCT FROM e.topic
LEFT JOIN of_scans AS s
  ON t.topic IS NOT DISTINCT FROM s.topic
LEFT JOIN of_messages AS m
  ON t.topic IS NOT DISTINCT FROM m.topic
LEFT JOIN of_findings AS f
  ON t.topic IS NOT DISTINCT FROM f.topic
LEFT JOIN of_blocked AS b
  ON t.topic IS NOT DISTINCT FROM b.topic
