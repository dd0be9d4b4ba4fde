-- Made of conf/sql/rebuildable_messages.sql (0b64827cd35e71ae) by `make docs`; do not edit.
SELECT
  topic,
  chunk_uuid,
  publish_time,
  state,
  flags,
  total_bytes,
  uncompressed_bytes,
  compression,
  encrypted,
  manifest,
  cluster
FROM chunked_messages
WHERE
  rebuildable
  AND (
    state <> 'whole'
    OR ARRAY_CONTAINS(flags, 'repeated_prefix')
    OR ARRAY_CONTAINS(flags, 'overlap')
  )
ORDER BY
  cluster,
  topic,
  first_ledger_id,
  first_entry_id
