-- The runs of all jobs, the oldest first.
SELECT job, source, seconds, versions, options FROM runs ORDER BY started
