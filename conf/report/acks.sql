-- All subscriptions, those with chunk sets to do something about, the blocked ones, and these by sureness.
SELECT
  count(*) AS total,
  count(CASE WHEN stalls > 0 THEN 1 END) AS stalled,
  count(CASE WHEN is_blocked THEN 1 END) AS blocked,
  count(CASE WHEN blocked_sureness = 'certain' THEN 1 END) AS blocked_certain,
  count(CASE WHEN blocked_sureness = 'likely' THEN 1 END) AS blocked_likely,
  count(CASE WHEN blocked_sureness = 'cannot_tell' THEN 1 END) AS blocked_cannot_tell
FROM standing
