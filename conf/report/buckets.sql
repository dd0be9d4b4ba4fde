-- Entries, bytes and chunks per topic and span of time, as wide as the cells of all its ledgers together must be.
WITH widths AS (
  -- The narrowest power of two, in milliseconds, with which so many cells cover a topic's times.
  SELECT c.topic, min(w.width) AS bucket_ms
  FROM chosen AS c
  CROSS JOIN (SELECT CAST(pow(2, power) AS bigint) AS width FROM (SELECT explode(sequence(0, 48)) AS power) AS p) AS w
  WHERE div(c.last_ms, w.width) - div(c.first_ms, w.width) < $time_cells
  GROUP BY c.topic
),

stored AS (
  SELECT f.topic, explode(f.cells) AS cell FROM ledger_facts AS f
),

placed AS (
  SELECT
    s.topic,
    w.bucket_ms,
    div(s.cell.start_ms, w.bucket_ms) * w.bucket_ms AS start_ms,
    s.cell.entries AS entries,
    s.cell.bytes AS bytes,
    s.cell.chunk_entries AS chunk_entries
  FROM stored AS s
  INNER JOIN widths AS w ON s.topic IS NOT DISTINCT FROM w.topic
)

SELECT
  p.topic,
  p.bucket_ms,
  p.start_ms,
  CAST(sum(p.entries) AS bigint) AS entries,
  CAST(sum(p.bytes) AS bigint) AS bytes,
  CAST(sum(p.chunk_entries) AS bigint) AS chunk_entries
FROM placed AS p
GROUP BY p.topic, p.bucket_ms, p.start_ms
ORDER BY p.topic, p.start_ms
