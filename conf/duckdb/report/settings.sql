-- Made of conf/report/settings.sql (efabc1c357c65938) by `make docs`; do not edit.
SELECT
  s.topic,
  s.recommended
FROM topic_stats AS s
SEMI JOIN chosen AS c
  ON s.topic IS NOT DISTINCT FROM c.topic
ORDER BY
  s.topic
