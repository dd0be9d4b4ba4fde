-- How many copies of ledgers there are, how many are not in order, and how many topics.
SELECT
  count(*) AS ledgers,
  count(CASE WHEN status IN ('damaged', 'unreadable') THEN 1 END) AS not_ok,
  count(DISTINCT topic) AS topics
FROM ledgers
