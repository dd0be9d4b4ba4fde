-- The runs of all jobs, the oldest first.
SELECT job, source, seconds, versions, options, unix_millis(started) AS started_ms FROM runs ORDER BY started
