-- The newest segments of the scalable topics that are drawn, by number.
SELECT
  topic, segment, segment_id, first_hash, last_hash, status, parents, children, kin_sureness, created_epoch,
  sealed_epoch, unix_millis(created_time) AS created_ms, unix_millis(sealed_time) AS sealed_ms, is_legacy, ledgers,
  entries, bytes, size(subscriptions) AS cursors
FROM (
  SELECT s.*, row_number() OVER (PARTITION BY s.topic ORDER BY s.segment_id DESC, s.segment) AS number
  FROM segments AS s
  SEMI JOIN chosen AS c ON s.topic = c.topic
) AS numbered
WHERE number <= $segments
ORDER BY topic, segment_id, segment
