-- Topics on which a message is not simply whole, of which more may be said as time goes by.
-- `is_unread`: a payload could not be read, and may be another time.
SELECT topic, bool_or(decode_state = 'not_checked' AND size(manifest) > 0) AS is_unread
FROM chunked_messages
WHERE state != 'whole' OR size(flags) > 0 OR decode_state = 'not_checked'
GROUP BY topic
