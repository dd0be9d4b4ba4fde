-- Made of conf/report/topic_groups.sql (786d9a9283479fc5) by `make docs`; do not edit.
SELECT
  m.topic,
  m.state,
  m.flags,
  m.rebuildable,
  m.sureness,
  COUNT(*) AS publications
FROM chunked_messages AS m
SEMI JOIN chosen AS c
  ON m.topic IS NOT DISTINCT FROM c.topic
GROUP BY
  m.topic,
  m.state,
  m.flags,
  m.rebuildable,
  m.sureness
ORDER BY
  m.topic,
  m.state,
  m.flags,
  m.rebuildable,
  m.sureness
