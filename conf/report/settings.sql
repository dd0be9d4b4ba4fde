-- What is recommended for each topic.
SELECT s.topic, s.recommended
FROM topic_stats AS s
SEMI JOIN chosen AS c ON s.topic IS NOT DISTINCT FROM c.topic
ORDER BY s.topic
