-- Made of conf/chunks/chunk_entries.sql (19c46372f31e2bc4) by `make docs`; do not edit.
SELECT
  *
FROM noted_entries
WHERE
  $is_chunk
