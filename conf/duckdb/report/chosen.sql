-- Made of conf/report/chosen.sql (66acec01eaa254af) by `make docs`; do not edit.
SELECT
  *
FROM topics
WHERE
  place > $after
  AND place <= $after + $topics
