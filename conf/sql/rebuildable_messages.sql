-- Messages that lie in the log with a valid copy of every chunk, though released clients lose them.
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
  AND (state <> 'whole' OR array_contains(flags, 'repeated_prefix') OR array_contains(flags, 'overlap'))
ORDER BY cluster, topic, first_ledger_id, first_entry_id
