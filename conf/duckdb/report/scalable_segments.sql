-- Made of conf/report/scalable_segments.sql (4da23c05b37dc105) by `make docs`; do not edit.
SELECT
  topic,
  segment,
  segment_id,
  first_hash,
  last_hash,
  status,
  parents,
  children,
  kin_sureness,
  created_epoch,
  sealed_epoch,
  EPOCH_MS(created_time) AS created_ms,
  EPOCH_MS(sealed_time) AS sealed_ms,
  is_legacy,
  ledgers,
  entries,
  bytes,
  ARRAY_LENGTH(subscriptions) AS cursors
FROM (
  SELECT
    s.*,
    ROW_NUMBER() OVER (PARTITION BY s.topic ORDER BY s.segment_id DESC, s.segment) AS number
  FROM segments AS s
  SEMI JOIN chosen AS c
    ON s.topic = c.topic
) AS numbered
WHERE
  number <= $segments
ORDER BY
  topic,
  segment_id,
  segment
