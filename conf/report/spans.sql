-- Where each ledger lies on its topic's axis: entries before it, of all entries, cut into cells.
WITH lengths AS (
  SELECT
    l.topic,
    l.ledger_id,
    CASE
      WHEN l.expected_entries BETWEEN 0 AND $ledger_entries THEN l.expected_entries ELSE coalesce(s.frames, 0)
    END AS length
  FROM ledgers AS l
  SEMI JOIN drawn AS d ON l.topic = d.topic
  LEFT JOIN scans AS s ON l.ledger_id = s.ledger_id AND l.copy = s.copy
  WHERE l.selected
),

placed AS (
  SELECT
    topic,
    ledger_id,
    length,
    CAST(sum(length) OVER (PARTITION BY topic ORDER BY ledger_id ROWS UNBOUNDED PRECEDING) AS bigint) - length AS before,
    CAST(sum(length) OVER (PARTITION BY topic) AS bigint) AS total,
    max(ledger_id) OVER (PARTITION BY topic) AS last_ledger_id
  FROM lengths
  WHERE length > 0
)

SELECT *, least(total, $cells) AS cells FROM placed
