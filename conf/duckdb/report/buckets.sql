-- Made of conf/report/buckets.sql (8cc523417469b37e) by `make docs`; do not edit.
WITH widths AS (
  SELECT
    c.topic,
    MIN(w.width) AS bucket_ms
  FROM chosen AS c
  CROSS JOIN (
    SELECT
      CAST(TRUNC(POWER(2, power)) AS BIGINT) AS width
    FROM (
      SELECT
        UNNEST(GENERATE_SERIES(0, 48)) AS power
    ) AS p
  ) AS w
  WHERE
    (
      c.last_ms // w.width
    ) - (
      c.first_ms // w.width
    ) < $time_cells
  GROUP BY
    c.topic
), stored AS (
  SELECT
    f.topic,
    UNNEST(f.cells) AS cell
  FROM ledger_facts AS f
), placed AS (
  SELECT
    s.topic,
    w.bucket_ms,
    (
      s.cell.start_ms // w.bucket_ms
    ) * w.bucket_ms AS start_ms,
    s.cell.entries AS entries,
    s.cell.bytes AS bytes,
    s.cell.chunk_entries AS chunk_entries
  FROM stored AS s
  INNER JOIN widths AS w
    ON s.topic IS NOT DISTINCT FROM w.topic
)
SELECT
  p.topic,
  p.bucket_ms,
  p.start_ms,
  CAST(SUM(p.entries) AS BIGINT) AS entries,
  CAST(SUM(p.bytes) AS BIGINT) AS bytes,
  CAST(SUM(p.chunk_entries) AS BIGINT) AS chunk_entries
FROM placed AS p
GROUP BY
  p.topic,
  p.bucket_ms,
  p.start_ms
ORDER BY
  p.topic,
  p.start_ms
