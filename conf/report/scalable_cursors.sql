-- Subscriptions of the scalable topics that are drawn: those that stall or skip most first.
SELECT
  topic, subscription, registered, cursors, backlog_entries, backlog_messages, backlog_bytes, unstored_entries, stalls,
  segments_without_cursor, entries_without_cursor, bytes_without_cursor
FROM (
  SELECT
    s.*,
    row_number() OVER (
      PARTITION BY s.topic
      ORDER BY
        s.stalls DESC, s.entries_without_cursor DESC, s.segments_without_cursor DESC,
        coalesce(s.backlog_entries, 0) DESC, s.subscription
    ) AS number
  FROM scalable_subscriptions AS s
  SEMI JOIN chosen AS c ON s.topic = c.topic
) AS numbered
WHERE number <= $subscriptions
ORDER BY topic, number
