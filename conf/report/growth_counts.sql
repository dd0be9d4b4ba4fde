-- How many backlogs grow, drain, are flat or empty, and of how many nobody can say.
SELECT direction, count(*) AS subscriptions FROM backlog_growth GROUP BY direction ORDER BY direction
