-- Made of conf/findings/findings.sql (3f813595e31d6e63) by `make docs`; do not edit.
SELECT
  *,
  $name AS name,
  $severity AS severity
FROM noticed
