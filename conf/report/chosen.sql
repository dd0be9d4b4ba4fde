-- The topics of one batch of the report, the worst first.
SELECT * FROM topics WHERE place > $after AND place <= $after + $topics
