-- Made of conf/report/cells.sql (c9c9f4146069c48f) by `make docs`; do not edit.
WITH runs AS (
  SELECT
    r.topic,
    r.subscription,
    r.kind,
    r.entries,
    s.total,
    s.cells,
    s.before + LEAST(r.first_entry_id, s.length - 1) AS first_place,
    s.before + LEAST(r.last_entry_id, s.length - 1) AS last_place
  FROM ack_ranges AS r
  SEMI JOIN drawn AS d
    ON r.topic = d.topic AND r.subscription = d.subscription
  INNER JOIN spans AS s
    ON r.topic = s.topic AND r.ledger_id = s.ledger_id
), spread AS (
  SELECT
    *,
    (
      (
        first_place * cells
      ) // total
    ) AS first_cell,
    UNNEST(
      GENERATE_SERIES((
        (
          first_place * cells
        ) // total
      ), (
        (
          last_place * cells
        ) // total
      ), CASE WHEN (
        (
          last_place * cells
        ) // total
      ) < (
        (
          first_place * cells
        ) // total
      ) THEN -1 ELSE 1 END)
    ) AS cell
  FROM runs
), of_runs AS (
  SELECT
    topic,
    subscription,
    cell,
    CAST(LEAST(
      last_place,
      (
        (
          (
            cell + 1
          ) * total + cells - 1
        ) // cells
      ) - 1
    ) - GREATEST(first_place, (
      (
        cell * total + cells - 1
      ) // cells
    )) + 1 AS DOUBLE) / NULLIF((
      last_place - first_place + 1
    ), 0) * entries AS unacked,
    CASE WHEN kind = 'hole' AND cell = first_cell THEN 1 ELSE 0 END AS holes,
    0 AS stalls,
    FALSE AS blocking
  FROM spread
), of_sets AS (
  SELECT
    t.topic,
    t.subscription,
    (
      (
        (
          s.before + LEAST(t.entry_id, s.length - 1)
        ) * s.cells
      ) // s.total
    ) AS cell,
    CAST(0 AS DOUBLE) AS unacked,
    0 AS holes,
    1 AS stalls,
    t.blocks_dispatch AS blocking
  FROM sets AS t
  SEMI JOIN drawn AS d
    ON t.topic = d.topic AND t.subscription = d.subscription
  INNER JOIN spans AS s
    ON t.topic = s.topic AND t.ledger_id = s.ledger_id
  WHERE
    t.blocks_dispatch OR NOT t.action IN ('wait', 'none')
)
SELECT
  u.topic,
  u.subscription,
  u.cell,
  SUM(u.unacked) AS unacked,
  CAST(SUM(u.holes) AS BIGINT) AS holes,
  CAST(SUM(u.stalls) AS BIGINT) AS stalls,
  BOOL_OR(CAST(u.blocking AS BOOLEAN)) AS blocking
FROM (
  SELECT
    *
  FROM of_runs
  UNION ALL
  SELECT
    *
  FROM of_sets
) AS u
GROUP BY
  u.topic,
  u.subscription,
  u.cell
ORDER BY
  u.topic,
  u.subscription,
  u.cell
