-- Topics on which a message is not simply whole: what is said of it may change as time goes by, and where its payload could
-- not be read (`is_unread`) when it can.
SELECT topic, bool_or(decode_state = 'not_checked' AND size(manifest) > 0) AS is_unread
FROM chunked_messages
WHERE state != 'whole' OR size(flags) > 0 OR decode_state = 'not_checked'
GROUP BY topic
