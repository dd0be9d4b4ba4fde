-- A row per topic: entries, messages, bytes, times, rejected entries, errors, and its place in the report.
-- First come those with a blocked subscription, in the order of these, then those with errors, then those with warnings. Names of equal rank that are shorter come first, so t2 before t10.
WITH of_entries AS (
  SELECT
    f.topic,
    CAST(sum(f.entries) AS bigint) AS entries,
    CAST(sum(f.messages) AS bigint) AS single_messages,
    CAST(sum(f.bytes) AS bigint) AS bytes,
    min(f.oldest_stored_ms) AS first_ms,
    max(f.newest_stored_ms) AS last_ms,
    bool_and(f.broker_timestamps = f.entries) AS by_broker,
    CAST(sum(f.entries_with_uuid) AS bigint) AS chunk_entries
  FROM ledger_facts AS f
  WHERE f.entries > 0
  GROUP BY f.topic
),

of_scans AS (
  SELECT s.topic, CAST(sum(s.rejected) AS bigint) AS rejected FROM scans AS s GROUP BY s.topic
),

of_messages AS (
  SELECT topic, count(*) AS chunked FROM chunked_messages GROUP BY topic
),

of_findings AS (
  SELECT
    topic,
    count(CASE WHEN severity = 'error' THEN 1 END) AS errors,
    count(CASE WHEN severity = 'warning' THEN 1 END) AS warnings
  FROM findings
  GROUP BY topic
),

of_blocked AS (
  SELECT topic, min(blocked_place) AS blocked_place FROM standing WHERE blocked_place IS NOT NULL GROUP BY topic
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
  b.blocked_place IS NOT NULL OR f.errors > 0 OR f.warnings > 0 AS is_wrong,
  row_number() OVER (
    ORDER BY
      b.blocked_place IS NULL,
      b.blocked_place,
      coalesce(f.errors, 0) DESC,
      coalesce(f.warnings, 0) = 0,
      coalesce(e.bytes, 0) DESC,
      length(t.topic),
      t.topic
  ) AS place
FROM (SELECT DISTINCT topic FROM ledgers) AS t
LEFT JOIN of_entries AS e ON t.topic IS NOT DISTINCT FROM e.topic
LEFT JOIN of_scans AS s ON t.topic IS NOT DISTINCT FROM s.topic
LEFT JOIN of_messages AS m ON t.topic IS NOT DISTINCT FROM m.topic
LEFT JOIN of_findings AS f ON t.topic IS NOT DISTINCT FROM f.topic
LEFT JOIN of_blocked AS b ON t.topic IS NOT DISTINCT FROM b.topic
