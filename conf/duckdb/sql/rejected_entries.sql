-- Made of conf/sql/rejected_entries.sql (4046e02008a8a351) by `make docs`; do not edit.
SELECT
  r.topic,
  r.ledger_id,
  r.entry_id,
  r.scope,
  r.code,
  r.field,
  r.expected,
  r.found,
  r.uri,
  r."offset",
  r.entry_offset,
  r.length,
  HEX(r.first_bytes) AS first_bytes,
  r.cluster
FROM rejects AS r
WHERE
  NOT EXISTS(SELECT
    1
  FROM gone_ledgers AS g
  WHERE
    r.cluster = g.cluster AND r.ledger_id = g.ledger_id)
ORDER BY
  r.cluster,
  r.ledger_id,
  r.entry_offset,
  r."offset"
