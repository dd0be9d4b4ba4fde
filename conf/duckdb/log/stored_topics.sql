-- Made of conf/log/stored_topics.sql (ce4578c55edd2a7e) by `make docs`; do not edit.
SELECT
  l.topic,
  COUNT(DISTINCT l.ledger_id) AS ledgers,
  CAST(COALESCE(SUM(f.entries), 0) AS BIGINT) AS entries,
  CAST(COALESCE(SUM(f.bytes), 0) AS BIGINT) AS bytes
FROM ledgers AS l
LEFT JOIN ledger_facts AS f
  ON l.ledger_id = f.ledger_id
WHERE
  l.selected AND NOT l.topic IS NULL
GROUP BY
  l.topic
