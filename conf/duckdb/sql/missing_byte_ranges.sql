-- Made of conf/sql/missing_byte_ranges.sql (fa3993b8e4a86508) by `make docs`; do not edit.
SELECT
  m.topic,
  m.chunk_uuid,
  m.publish_time,
  m.state,
  m.missing.start AS start_byte,
  m.missing."end" AS end_byte,
  m.missing."end" - m.missing.start AS bytes,
  m.total_bytes,
  m.cluster
FROM (
  SELECT
    *,
    UNNEST(missing_bytes) AS missing
  FROM chunked_messages
) AS m
ORDER BY
  m.cluster,
  m.topic,
  m.chunk_uuid,
  m.publish_time,
  start_byte
