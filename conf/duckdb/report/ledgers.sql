-- Made of conf/report/ledgers.sql (63271adc9d50309d) by `make docs`; do not edit.
SELECT
  topic,
  ledger_id,
  entries,
  bytes,
  status,
  total,
  created_ms,
  closed_ms
FROM (
  SELECT
    l.topic,
    l.ledger_id,
    s.frames AS entries,
    l.data_bytes AS bytes,
    l.status,
    EPOCH_MS(l.created_time) AS created_ms,
    EPOCH_MS(l.closed_time) AS closed_ms,
    ROW_NUMBER() OVER (PARTITION BY l.topic ORDER BY l.ledger_id, l.copy) AS number,
    COUNT(*) OVER (PARTITION BY l.topic) AS total
  FROM ledgers AS l
  SEMI JOIN chosen AS c
    ON l.topic IS NOT DISTINCT FROM c.topic
  LEFT JOIN scans AS s
    ON l.ledger_id = s.ledger_id AND l.copy = s.copy
) AS numbered
WHERE
  number <= $ledgers
ORDER BY
  topic,
  number
