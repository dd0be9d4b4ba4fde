-- Publications of each topic counted by verdict.
SELECT m.topic, m.state, m.flags, m.rebuildable, m.sureness, count(*) AS publications
FROM chunked_messages AS m
SEMI JOIN chosen AS c ON m.topic IS NOT DISTINCT FROM c.topic
GROUP BY m.topic, m.state, m.flags, m.rebuildable, m.sureness
ORDER BY m.topic, m.state, m.flags, m.rebuildable, m.sureness
