-- Made of conf/log/dead_letter_topics.sql (aed4de5454e3e693) by `make docs`; do not edit.
WITH letters AS (
  SELECT
    properties['ORIGIN_MESSAGE_ID'] AS origin,
    properties['REAL_TOPIC'] AS real_topic
  FROM entries
  WHERE
    LIST_CONTAINS(MAP_KEYS(properties), 'REAL_TOPIC')
    AND LIST_CONTAINS(MAP_KEYS(properties), 'ORIGIN_MESSAGE_ID')
), parts AS (
  SELECT
    TRY_CAST(REGEXP_EXTRACT(origin, $message_id, 1) AS BIGINT) AS ledger_id,
    REGEXP_EXTRACT(origin, $message_id, 2) AS partition_number,
    real_topic
  FROM letters
), named AS (
  SELECT
    ledger_id,
    CASE
      WHEN partition_number = '' OR REGEXP_MATCHES(real_topic, '-partition-[0-9]+$$')
      THEN real_topic
      ELSE real_topic || '-partition-' || partition_number
    END AS topic
  FROM parts
  WHERE
    NOT ledger_id IS NULL AND real_topic LIKE 'persistent://%'
)
SELECT
  ledger_id,
  MIN(topic) AS topic
FROM named
GROUP BY
  ledger_id
HAVING
  MIN(topic) = MAX(topic)
