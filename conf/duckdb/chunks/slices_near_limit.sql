-- Made of conf/chunks/slices_near_limit.sql (e16f7a1e0a732d34) by `make docs`; do not edit.
WITH measured AS (
  SELECT
    topic,
    largest_header,
    largest_slice,
    largest_slice.bytes AS slice_bytes,
    largest_slice.length AS slice_entry_bytes,
    MAX(largest_entry_bytes) OVER (PARTITION BY topic) AS largest_entry_bytes
  FROM producers
), judged AS (
  SELECT
    topic,
    largest_header,
    largest_slice,
    COALESCE(slice_bytes = $limit, FALSE) AS is_full,
    COALESCE(largest_header.bytes > $padding, FALSE) AS is_heavy
  FROM measured
)
SELECT
  topic,
  CASE WHEN is_heavy THEN largest_header.ledger_id ELSE largest_slice.ledger_id END AS ledger_id,
  CASE WHEN is_heavy THEN largest_header.entry_id ELSE largest_slice.entry_id END AS entry_id,
  CASE WHEN is_heavy THEN 'certain' ELSE 'likely' END AS sureness,
  CASE
    WHEN is_heavy
    THEN 'a header is larger than the 10 KB that a frame allows beside a full slice'
    ELSE 'maxMessageSize is taken to be the round number that a slice fills'
  END AS reason,
  'C31' AS code
FROM judged
WHERE
  is_heavy OR is_full
