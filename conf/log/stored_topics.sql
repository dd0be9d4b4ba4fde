-- What is stored of each topic: ledgers, and entries of those that were scanned.
SELECT
  l.topic,
  count(DISTINCT l.ledger_id) AS ledgers,
  CAST(coalesce(sum(f.entries), 0) AS bigint) AS entries,
  CAST(coalesce(sum(f.bytes), 0) AS bigint) AS bytes
FROM ledgers AS l
LEFT JOIN ledger_facts AS f ON l.ledger_id = f.ledger_id
WHERE l.selected AND l.topic IS NOT NULL
GROUP BY l.topic
