-- Noted entries with chunk fields that are messages of a known topic.
SELECT *
FROM noted_entries
WHERE $is_chunk
