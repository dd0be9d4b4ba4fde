-- Made of conf/report/axes.sql (3e2ceaf815690e7e) by `make docs`; do not edit.
WITH cut AS (
  SELECT
    *,
    CASE
      WHEN before = 0
      THEN 0
      ELSE (
        (
          (
            before - 1
          ) * cells
        ) // total
      ) + 1
    END AS first_cell,
    (
      (
        (
          before + length - 1
        ) * cells
      ) // total
    ) AS last_cell
  FROM spans
), begun AS (
  SELECT
    topic,
    ledger_id,
    before,
    total,
    cells,
    UNNEST(
      GENERATE_SERIES(first_cell, last_cell, CASE WHEN last_cell < first_cell THEN -1 ELSE 1 END)
    ) AS cell
  FROM cut
  WHERE
    first_cell <= last_cell
)
SELECT
  b.topic,
  b.total,
  b.cell,
  b.ledger_id,
  (
    (
      b.cell * b.total + b.cells - 1
    ) // b.cells
  ) - b.before AS entry_id,
  (
    (
      b.cell * b.total + b.cells - 1
    ) // b.cells
  ) AS start,
  e.ledger_id AS last_ledger_id,
  e.length - 1 AS last_entry_id
FROM begun AS b
INNER JOIN spans AS e
  ON b.topic = e.topic AND e.ledger_id = e.last_ledger_id
ORDER BY
  b.topic,
  b.cell
