-- Made of conf/sql/broken_chunked_messages.sql (b588a0a2b681020a) by `make docs`; do not edit.
SELECT
  topic,
  state,
  flags,
  rebuildable,
  sureness,
  chunk_uuid,
  publish_time,
  present_chunks,
  num_chunks,
  missing_chunk_ids,
  missing_bytes,
  decode_state,
  first_ledger_id || ':' || first_entry_id AS first_position,
  last_ledger_id || ':' || last_entry_id AS last_position,
  reason,
  cluster
FROM chunked_messages
WHERE
  state <> 'whole' OR NOT CAST(flags AS TEXT) IN ('[]', '[ledger_span]')
ORDER BY
  state = 'in_flight',
  rebuildable,
  cluster,
  topic,
  first_ledger_id,
  first_entry_id
