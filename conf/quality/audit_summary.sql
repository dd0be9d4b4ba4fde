-- The whole audit in one row.
WITH of_ledgers AS (
  SELECT
    count(CASE WHEN selected AND data_uri IS NOT NULL THEN 1 END) AS copies_selected,
    count(CASE WHEN selected AND topic IS NULL THEN 1 END) AS unknown_topic_ledgers,
    count(DISTINCT topic) AS topics
  FROM ledgers
),

of_scans AS (
  SELECT
    count(CASE WHEN s.complete THEN 1 END) AS copies_scanned,
    CAST(coalesce(sum(s.decoded), 0) AS bigint) AS scans_decoded,
    CAST(coalesce(sum(s.rejected), 0) AS bigint) AS scans_rejected
  FROM scans AS s
),

of_facts AS (
  SELECT ($run_at_ms - max(newest_stored_ms)) / CAST(3600000 AS double) AS hours_since_newest FROM ledger_facts
),

of_rejects AS (
  SELECT count(CASE WHEN scope = 'entry' THEN 1 END) AS rejects_rows FROM rejects
),

of_findings AS (
  SELECT
    count(CASE WHEN severity = 'error' THEN 1 END) AS findings_errors,
    count(CASE WHEN incomplete THEN 1 END) AS findings_incomplete,
    CAST(coalesce(sum(CASE WHEN code = $left_unread THEN count END), 0) AS bigint) AS left_unread
  FROM findings
)

SELECT
  'audit' AS subject,
  -- What the audit was told to leave is a finding, and no fault of the tables.
  l.copies_selected - n.left_unread AS copies_selected,
  l.unknown_topic_ledgers,
  l.topics,
  s.copies_scanned,
  s.scans_decoded,
  s.scans_rejected,
  CAST($stored AS bigint) AS entries_rows,
  f.hours_since_newest,
  r.rejects_rows,
  n.findings_errors,
  n.findings_incomplete,
  $present AS tables_present,
  $expected AS tables_expected
FROM of_ledgers AS l
CROSS JOIN of_scans AS s
CROSS JOIN of_facts AS f
CROSS JOIN of_rejects AS r
CROSS JOIN of_findings AS n
