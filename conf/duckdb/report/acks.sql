-- Made of conf/report/acks.sql (a504c8d977552891) by `make docs`; do not edit.
SELECT
  COUNT(*) AS total,
  COUNT(CASE WHEN stalls > 0 THEN 1 END) AS stalled,
  COUNT(CASE WHEN is_blocked THEN 1 END) AS blocked,
  COUNT(CASE WHEN blocked_sureness = 'certain' THEN 1 END) AS blocked_certain,
  COUNT(CASE WHEN blocked_sureness = 'likely' THEN 1 END) AS blocked_likely,
  COUNT(CASE WHEN blocked_sureness = 'cannot_tell' THEN 1 END) AS blocked_cannot_tell
FROM standing
