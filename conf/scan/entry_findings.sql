-- Per topic and code: entries whose checksum is wrong or absent, and entries that are odd but readable.
WITH numbered AS (
  SELECT
    topic, ledger_id, odd.code, odd.count, odd.entry_ids,
    row_number() OVER (PARTITION BY topic, odd.code ORDER BY ledger_id, odd.entry_ids) AS number
  FROM (SELECT topic, ledger_id, explode(odd) AS odd FROM ledger_facts) AS each_code
),

places AS (
  SELECT
    topic, code, count, ledger_id, entry_id,
    concat(CAST(ledger_id AS string), ':', CAST(entry_id AS string)) AS place,
    row_number() OVER (PARTITION BY topic, code ORDER BY number, entry_id) AS nth,
    row_number() OVER (PARTITION BY topic, code, number ORDER BY entry_id) AS nth_of_ledger
  FROM (
    SELECT topic, code, count, ledger_id, number, explode(entry_ids) AS entry_id FROM numbered
  ) AS each_entry
)

SELECT
  code,
  coalesce(topic, 'topic unknown') AS subject,
  topic,
  min_by(ledger_id, nth) AS ledger_id,
  min_by(entry_id, nth) AS entry_id,
  CAST(sum(CASE WHEN nth_of_ledger = 1 THEN count ELSE 0 END) AS bigint) AS count,
  'certain' AS sureness,
  'read from the stored bytes' AS reason,
  concat(
    $counted, ': ', CAST(CAST(sum(CASE WHEN nth_of_ledger = 1 THEN count ELSE 0 END) AS bigint) AS string), '.'
  ) AS message,
  transform(
    array_sort(collect_list(CASE WHEN nth <= $max_evidence THEN struct(nth AS at, place AS value) END)), one -> one.value
  ) AS evidence,
  FALSE AS incomplete
FROM places
GROUP BY topic, code
