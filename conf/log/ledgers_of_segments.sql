-- Stored ledgers of segments of scalable topics that were scanned, with their entries.
SELECT l.topic AS segment, l.ledger_id, f.entries, f.last_entry_id
FROM ledgers AS l
INNER JOIN ledger_facts AS f ON l.ledger_id = f.ledger_id
WHERE l.selected AND l.topic LIKE 'segment://%' AND f.last_entry_id IS NOT NULL
