-- C31: a producer whose slices leave no room for their header, or whose headers are larger than the room there is.
-- That entries exceed the limit by the chunk fields and encryption tags alone, under 1 KB, is so with every client.
WITH judged AS (
  SELECT
    topic, largest_header, largest_slice,
    is_saved,
    coalesce(largest_slice.bytes >= limit_bytes, FALSE) AS is_full,
    coalesce(largest_header.bytes > $padding, FALSE) AS is_heavy
  FROM producer_limits
)

SELECT
  topic,
  CASE WHEN is_heavy THEN largest_header.ledger_id ELSE largest_slice.ledger_id END AS ledger_id,
  CASE WHEN is_heavy THEN largest_header.entry_id ELSE largest_slice.entry_id END AS entry_id,
  CASE WHEN is_heavy OR is_saved THEN 'certain' ELSE 'likely' END AS sureness,
  CASE
    WHEN is_heavy THEN 'a header is larger than the 10 KB that a frame allows beside a full slice'
    WHEN is_saved THEN 'maxMessageSize is what the saved settings say'
    ELSE 'maxMessageSize is taken to be the round number that a slice fills'
  END AS reason,
  'C31' AS code
FROM judged
WHERE is_heavy OR is_full
