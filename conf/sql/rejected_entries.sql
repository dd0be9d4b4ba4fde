-- What could not be decoded: code, place in the object and the first bytes as hex.
SELECT
  topic,
  ledger_id,
  entry_id,
  scope,
  code,
  field,
  expected,
  found,
  uri,
  `offset`,
  entry_offset,
  `length`,
  hex(first_bytes) AS first_bytes,
  cluster
FROM rejects
ORDER BY cluster, ledger_id, entry_offset, `offset`
