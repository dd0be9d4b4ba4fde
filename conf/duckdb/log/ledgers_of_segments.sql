-- Made of conf/log/ledgers_of_segments.sql (2bf107996882562e) by `make docs`; do not edit.
SELECT
  l.topic AS segment,
  l.ledger_id,
  f.entries,
  f.last_entry_id
FROM ledgers AS l
INNER JOIN ledger_facts AS f
  ON l.ledger_id = f.ledger_id
WHERE
  l.selected AND l.topic LIKE 'segment://%' AND NOT f.last_entry_id IS NULL
