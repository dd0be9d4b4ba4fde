-- Made of conf/scan/pending.sql (ea158dde4adb6e96) by `make docs`; do not edit.
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
  EPOCH_MS(l.created_time) AS created_ms,
  EPOCH_MS(l.closed_time) AS closed_ms,
  s.copy AS scanned_copy,
  s.data_bytes AS scanned_bytes,
  s.data_etag AS scanned_etag,
  NOT n.ledger_id IS NULL AS is_old
FROM ledgers AS l
LEFT JOIN (
  SELECT
    *
  FROM scans
  WHERE
    complete
) AS s
  ON s.ledger_id = l.ledger_id
LEFT JOIN (
  SELECT
    ledger_id
  FROM noted_entries
  WHERE
    uri IS NULL
  UNION
  SELECT
    ledger_id
  FROM producer_facts
  WHERE
    last_message IS NULL AND entries > markers
  UNION
  SELECT
    ledger_id
  FROM scans
  WHERE
    complete AND NOT ledger_id IN (
      SELECT
        ledger_id
      FROM ledger_facts
    )
) AS n
  ON n.ledger_id = l.ledger_id
WHERE
  l.selected
  AND NOT l.data_uri IS NULL
  AND NOT (
    s.copy IS NOT DISTINCT FROM l.copy
    AND s.topic IS NOT DISTINCT FROM l.topic
    AND s.data_bytes IS NOT DISTINCT FROM l.data_bytes
    AND s.data_etag IS NOT DISTINCT FROM l.data_etag
    AND n.ledger_id IS NULL
  )
ORDER BY
  l.ledger_id
