-- Selected copies whose scan is not on the books as they are now, with what the books have instead.
SELECT
  l.topic,
  l.ledger_id,
  l.copy,
  l.kind,
  l.data_uri,
  l.checksum_uri,
  l.data_bytes,
  l.data_etag,
  l.expected_entries,
  l.expected_bytes,
  l.blocks,
  unix_millis(l.created_time) AS created_ms,
  unix_millis(l.closed_time) AS closed_ms,
  s.copy AS scanned_copy,
  s.data_bytes AS scanned_bytes,
  s.data_etag AS scanned_etag,
  n.ledger_id IS NOT NULL AS is_old
FROM ledgers AS l
LEFT JOIN (SELECT * FROM scans WHERE complete) AS s ON s.ledger_id = l.ledger_id
-- Read by an earlier release, which did not keep what is asked now.
LEFT JOIN (
  SELECT ledger_id FROM noted_entries WHERE uri IS NULL
  UNION
  SELECT ledger_id FROM producer_facts WHERE last_message IS NULL AND entries > markers
  UNION
  SELECT ledger_id FROM scans WHERE complete AND ledger_id NOT IN (SELECT ledger_id FROM ledger_facts)
) AS n ON n.ledger_id = l.ledger_id
WHERE
  l.selected
  AND l.data_uri IS NOT NULL
  AND NOT (
    s.copy IS NOT DISTINCT FROM l.copy
    AND s.topic IS NOT DISTINCT FROM l.topic
    AND s.data_bytes IS NOT DISTINCT FROM l.data_bytes
    AND s.data_etag IS NOT DISTINCT FROM l.data_etag
    AND n.ledger_id IS NULL
  )
ORDER BY l.ledger_id
