-- Made of conf/quality/audit_summary.sql (135e70309fcdab2d) by `make docs`; do not edit.
WITH of_ledgers AS (
  SELECT
    COUNT(CASE WHEN selected AND NOT data_uri IS NULL THEN 1 END) AS copies_selected,
    COUNT(CASE WHEN selected AND topic IS NULL THEN 1 END) AS unknown_topic_ledgers,
    COUNT(DISTINCT topic) AS topics
  FROM ledgers
), of_scans AS (
  SELECT
    COUNT(CASE WHEN s.complete THEN 1 END) AS copies_scanned,
    CAST(COALESCE(SUM(s.decoded), 0) AS BIGINT) AS scans_decoded,
    CAST(COALESCE(SUM(s.rejected), 0) AS BIGINT) AS scans_rejected
  FROM scans AS s
), of_facts AS (
  SELECT
    (
      $run_at_ms - MAX(newest_stored_ms)
    ) / NULLIF(CAST(3600000 AS DOUBLE), 0) AS hours_since_newest
  FROM ledger_facts
), of_rejects AS (
  SELECT
    COUNT(CASE WHEN scope = 'entry' THEN 1 END) AS rejects_rows
  FROM rejects
), of_findings AS (
  SELECT
    COUNT(CASE WHEN severity = 'error' THEN 1 END) AS findings_errors,
    COUNT(CASE WHEN incomplete THEN 1 END) AS findings_incomplete,
    CAST(COALESCE(SUM(CASE WHEN code = $left_unread THEN count END), 0) AS BIGINT) AS left_unread
  FROM findings
)
SELECT
  'audit' AS subject,
  l.copies_selected - n.left_unread AS copies_selected,
  l.unknown_topic_ledgers,
  l.topics,
  s.copies_scanned,
  s.scans_decoded,
  s.scans_rejected,
  CAST(TRUNC($stored) AS BIGINT) AS entries_rows,
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
