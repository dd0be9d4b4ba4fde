-- Producers with `limit_bytes`, the brokers' `maxMessageSize`: as it was saved, else as their largest slice shows it.
-- Java since 2.10, C++ and Go cut so that payload and metadata fill the limit, before they add the chunk fields; older
-- Java lets the payload alone fill it. So a round number between the payload and the whole entry is the limit, unless
-- other entries of the topic are far larger. A limit of the application's own (`chunkMaxMessageSize`) shows none.
WITH rounded AS (
  SELECT
    *,
    CAST(ceil(largest_slice.bytes / $step_bytes) * $step_bytes AS bigint) AS round_bytes,
    max(largest_entry_bytes) OVER (PARTITION BY topic) AS largest_of_topic
  FROM producers
)

SELECT
  *,
  CASE
    WHEN $saved_bytes > 0 THEN $saved_bytes
    WHEN
      round_bytes BETWEEN $least_bytes AND largest_slice.length
      AND largest_of_topic <= round_bytes + $padding_bytes
      THEN round_bytes
  END AS limit_bytes,
  $saved_bytes > 0 AS is_saved
FROM rounded
