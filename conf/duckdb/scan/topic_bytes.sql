-- Made of conf/scan/topic_bytes.sql (6c97a4ce0a7382f2) by `make docs`; do not edit.
SELECT
  l.topic,
  SUM(COALESCE(l.data_bytes, 0)) AS stored_bytes,
  SUM(CASE WHEN NOT s.ledger_id IS NULL THEN COALESCE(l.data_bytes, 0) ELSE 0 END) AS read_bytes
FROM ledgers AS l
LEFT JOIN (
  SELECT
    ledger_id,
    copy
  FROM scans
  WHERE
    complete
) AS s
  ON s.ledger_id = l.ledger_id AND s.copy = l.copy
WHERE
  l.selected AND NOT l.data_uri IS NULL
GROUP BY
  l.topic
