-- Made of conf/report/spans.sql (daa40d056e2657e0) by `make docs`; do not edit.
WITH lengths AS (
  SELECT
    l.topic,
    l.ledger_id,
    CASE
      WHEN l.expected_entries BETWEEN 0 AND $ledger_entries
      THEN l.expected_entries
      ELSE COALESCE(s.frames, 0)
    END AS length
  FROM ledgers AS l
  SEMI JOIN drawn AS d
    ON l.topic = d.topic
  LEFT JOIN scans AS s
    ON l.ledger_id = s.ledger_id AND l.copy = s.copy
  WHERE
    l.selected
), placed AS (
  SELECT
    topic,
    ledger_id,
    length,
    CAST(SUM(length) OVER (
      PARTITION BY topic
      ORDER BY ledger_id
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS BIGINT) - length AS before,
    CAST(SUM(length) OVER (PARTITION BY topic) AS BIGINT) AS total,
    MAX(ledger_id) OVER (PARTITION BY topic) AS last_ledger_id
  FROM lengths
  WHERE
    length > 0
)
SELECT
  *,
  LEAST(total, $cells) AS cells
FROM placed
