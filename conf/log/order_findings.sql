-- One finding per topic and code of `steps`; grows with ledgers, never with entries.
WITH numbered AS (
  SELECT
    *,
    $doubt AS doubt,
    row_number() OVER (PARTITION BY topic, code ORDER BY ledger_id, entry_ids) AS number,
    CASE
      WHEN code = 'B01' AND sureness = 'likely' THEN 'a ledger that is not here may lie between'
      WHEN code = 'B05' AND sureness = 'likely' THEN 'its messages may have waited before they were sent'
      WHEN code = 'B07' THEN 'stored times against the closing times that the broker recorded'
      ELSE 'read from the stored bytes'
    END AS reason
  FROM steps
),

summed AS (
  SELECT
    topic,
    code,
    CAST(sum(count) AS bigint) AS count,
    CASE
      WHEN code = 'B01' THEN CAST(least(sum(CAST(extent AS decimal(38, 0))), $farthest) AS bigint)
      ELSE max_by(extent, (abs(extent), extent))
    END AS extent,
    max_by(sureness, (doubt, reason)) AS sureness,
    max_by(reason, (doubt, reason)) AS reason
  FROM numbered
  GROUP BY topic, code
),

places AS (
  SELECT
    topic, code, ledger_id, entry_id,
    concat_ws(':', CAST(ledger_id AS string), CAST(entry_id AS string)) AS place,
    row_number() OVER (PARTITION BY topic, code ORDER BY number, entry_id) AS nth
  FROM (SELECT topic, code, ledger_id, number, explode(entry_ids) AS entry_id FROM numbered) AS each
),

first_places AS (
  SELECT
    topic, code, min_by(ledger_id, nth) AS ledger_id, min_by(entry_id, nth) AS entry_id,
    transform(
      array_sort(collect_list(CASE WHEN nth <= $max_evidence THEN struct(nth AS at, place AS value) END)), one -> one.value
    ) AS evidence
  FROM places
  GROUP BY topic, code
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
  replace(replace($message, '{count}', CAST(s.count AS string)), '{extent}', CAST(s.extent AS string)) AS message,
  p.evidence,
  FALSE AS incomplete
FROM summed AS s
INNER JOIN first_places AS p ON s.topic = p.topic AND s.code = p.code
