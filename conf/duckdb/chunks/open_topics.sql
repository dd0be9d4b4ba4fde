-- Made of conf/chunks/open_topics.sql (8e9013609feaf5fc) by `make docs`; do not edit.
SELECT
  topic,
  BOOL_OR(CAST(decode_state = 'not_checked' AND ARRAY_LENGTH(manifest) > 0 AS BOOLEAN)) AS is_unread
FROM chunked_messages
WHERE
  state <> 'whole' OR ARRAY_LENGTH(flags) > 0 OR decode_state = 'not_checked'
GROUP BY
  topic
