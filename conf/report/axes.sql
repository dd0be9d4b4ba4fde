-- Where each cell of each topic's axis begins, in order, with the entries of all of them and the last position.
WITH cut AS (
  SELECT
    *,
    CASE WHEN before = 0 THEN 0 ELSE div((before - 1) * cells, total) + 1 END AS first_cell,
    div((before + length - 1) * cells, total) AS last_cell
  FROM spans
),

begun AS (
  -- A ledger in which no cell begins has its last one before its first.
  SELECT topic, ledger_id, before, total, cells, explode(sequence(first_cell, last_cell)) AS cell
  FROM cut
  WHERE first_cell <= last_cell
)

SELECT
  b.topic,
  b.total,
  b.cell,
  b.ledger_id,
  div(b.cell * b.total + b.cells - 1, b.cells) - b.before AS entry_id,
  div(b.cell * b.total + b.cells - 1, b.cells) AS start,
  e.ledger_id AS last_ledger_id,
  e.length - 1 AS last_entry_id
FROM begun AS b
INNER JOIN spans AS e ON b.topic = e.topic AND e.ledger_id = e.last_ledger_id
ORDER BY b.topic, b.cell
