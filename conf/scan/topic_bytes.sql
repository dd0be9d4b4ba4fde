-- How much is stored of each topic, and how much of it is on the books.
SELECT
  l.topic,
  sum(coalesce(l.data_bytes, 0)) AS stored_bytes,
  sum(CASE WHEN s.ledger_id IS NOT NULL THEN coalesce(l.data_bytes, 0) ELSE 0 END) AS read_bytes
FROM ledgers AS l
LEFT JOIN (SELECT ledger_id, copy FROM scans WHERE complete) AS s ON s.ledger_id = l.ledger_id AND s.copy = l.copy
WHERE l.selected AND l.data_uri IS NOT NULL
GROUP BY l.topic
