-- Made of conf/log/order_findings.sql (c9cd10e4209440bb) by `make docs`; do not edit.
WITH numbered AS (
  SELECT
    *,
    $doubt AS doubt,
    ROW_NUMBER() OVER (PARTITION BY topic, code ORDER BY ledger_id, entry_ids) AS number,
    CASE
      WHEN code = 'B01' AND sureness = 'likely'
      THEN 'a ledger that is not here may lie between'
      WHEN code = 'B05' AND sureness = 'likely'
      THEN 'its messages may have waited before they were sent'
      WHEN code = 'B07'
      THEN 'stored times against the closing times that the broker recorded'
      ELSE 'read from the stored bytes'
    END AS reason
  FROM steps
), summed AS (
  SELECT
    topic,
    code,
    CAST(SUM(count) AS BIGINT) AS count,
    CASE
      WHEN code = 'B01'
      THEN CAST(TRUNC(LEAST(SUM(CAST(extent AS DECIMAL(38, 0))), $farthest)) AS BIGINT)
      ELSE ARG_MAX_NULL(extent, (ABS(extent), extent))
    END AS extent,
    ARG_MAX_NULL(sureness, (doubt, reason)) AS sureness,
    ARG_MAX_NULL(reason, (doubt, reason)) AS reason
  FROM numbered
  GROUP BY
    topic,
    code
), places AS (
  SELECT
    topic,
    code,
    ledger_id,
    entry_id,
    CONCAT_WS(':', CAST(ledger_id AS TEXT), CAST(entry_id AS TEXT)) AS place,
    ROW_NUMBER() OVER (PARTITION BY topic, code ORDER BY number, entry_id) AS nth
  FROM (
    SELECT
      topic,
      code,
      ledger_id,
      number,
      UNNEST(entry_ids) AS entry_id
    FROM numbered
  ) AS each
), first_places AS (
  SELECT
    topic,
    code,
    ARG_MIN_NULL(ledger_id, nth) AS ledger_id,
    ARG_MIN_NULL(entry_id, nth) AS entry_id,
    LIST_TRANSFORM(LIST_SORT(COALESCE(LIST({'at': nth, 'value': place}) FILTER (WHERE nth <= $max_evidence), []), 'ASC', 'NULLS LAST'), LAMBDA one : one.value) AS evidence
  FROM places
  GROUP BY
    topic,
    code
)
SELECT
  s.code,
  s.topic AS subject,
  s.topic,
  p.ledger_id,
  p.entry_id,
  s.count,
  s.sureness,
  s.reason,
  REPLACE(
    REPLACE($message, '{count}', CAST(s.count AS TEXT)),
    '{extent}',
    CAST(s.extent AS TEXT)
  ) AS message,
  p.evidence,
  FALSE AS incomplete
FROM summed AS s
INNER JOIN first_places AS p
  ON s.topic = p.topic AND s.code = p.code
