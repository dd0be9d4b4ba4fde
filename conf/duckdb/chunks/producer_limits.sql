-- Made of conf/chunks/producer_limits.sql (c7d0fd5255a7a8fb) by `make docs`; do not edit.
WITH rounded AS (
  SELECT
    *,
    CAST(TRUNC(CEIL(largest_slice.bytes / NULLIF($step_bytes, 0)) * $step_bytes) AS BIGINT) AS round_bytes,
    MAX(largest_entry_bytes) OVER (PARTITION BY topic) AS largest_of_topic
  FROM producers
)
SELECT
  *,
  CASE
    WHEN $saved_bytes > 0
    THEN $saved_bytes
    WHEN round_bytes BETWEEN $least_bytes AND largest_slice.length
    AND largest_of_topic <= round_bytes + $padding_bytes
    THEN round_bytes
  END AS limit_bytes,
  $saved_bytes > 0 AS is_saved
FROM rounded
