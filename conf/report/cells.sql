-- The cells of each subscription that is drawn that hold something unacknowledged.
WITH runs AS (
  SELECT
    r.topic,
    r.subscription,
    r.kind,
    r.entries,
    s.total,
    s.cells,
    s.before + least(r.first_entry_id, s.length - 1) AS first_place,
    s.before + least(r.last_entry_id, s.length - 1) AS last_place
  FROM ack_ranges AS r
  SEMI JOIN drawn AS d ON r.topic = d.topic AND r.subscription = d.subscription
  INNER JOIN spans AS s ON r.topic = s.topic AND r.ledger_id = s.ledger_id
),

spread AS (
  SELECT
    *,
    div(first_place * cells, total) AS first_cell,
    explode(sequence(div(first_place * cells, total), div(last_place * cells, total))) AS cell
  FROM runs
),

of_runs AS (
  SELECT
    topic,
    subscription,
    cell,
    CAST(
      least(last_place, div((cell + 1) * total + cells - 1, cells) - 1)
      - greatest(first_place, div(cell * total + cells - 1, cells)) + 1 AS double
    ) / (last_place - first_place + 1) * entries AS unacked,
    CASE WHEN kind = 'hole' AND cell = first_cell THEN 1 ELSE 0 END AS holes,
    0 AS stalls,
    FALSE AS blocking
  FROM spread
),

of_sets AS (
  SELECT
    t.topic,
    t.subscription,
    div((s.before + least(t.entry_id, s.length - 1)) * s.cells, s.total) AS cell,
    CAST(0 AS double) AS unacked,
    0 AS holes,
    1 AS stalls,
    t.blocks_dispatch AS blocking
  FROM sets AS t
  SEMI JOIN drawn AS d ON t.topic = d.topic AND t.subscription = d.subscription
  INNER JOIN spans AS s ON t.topic = s.topic AND t.ledger_id = s.ledger_id
  WHERE t.blocks_dispatch OR t.action NOT IN ('wait', 'none')
)

SELECT
  u.topic,
  u.subscription,
  u.cell,
  sum(u.unacked) AS unacked,
  CAST(sum(u.holes) AS bigint) AS holes,
  CAST(sum(u.stalls) AS bigint) AS stalls,
  bool_or(u.blocking) AS blocking
FROM (SELECT * FROM of_runs UNION ALL SELECT * FROM of_sets) AS u
GROUP BY u.topic, u.subscription, u.cell
ORDER BY u.topic, u.subscription, u.cell
