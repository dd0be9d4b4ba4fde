-- Publications counted by verdict.
SELECT state, flags, rebuildable, sureness, count(*) AS publications
FROM chunked_messages
GROUP BY state, flags, rebuildable, sureness
ORDER BY state, flags, rebuildable, sureness
