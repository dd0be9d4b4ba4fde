-- The topic that dead letters name for a ledger, of a partition with its number; none where they do not agree.
WITH letters AS (
  SELECT properties['ORIGIN_MESSAGE_ID'] AS origin, properties['REAL_TOPIC'] AS real_topic
  FROM entries
  WHERE map_contains_key(properties, 'REAL_TOPIC') AND map_contains_key(properties, 'ORIGIN_MESSAGE_ID')
),

parts AS (
  SELECT
    try_cast(regexp_extract(origin, $message_id, 1) AS bigint) AS ledger_id,
    regexp_extract(origin, $message_id, 2) AS partition_number,
    real_topic
  FROM letters
),

named AS (
  SELECT
    ledger_id,
    CASE
      WHEN partition_number = '' OR real_topic RLIKE '-partition-[0-9]+$$' THEN real_topic
      ELSE concat(real_topic, '-partition-', partition_number)
    END AS topic
  FROM parts
  WHERE ledger_id IS NOT NULL AND real_topic LIKE 'persistent://%'
)

SELECT ledger_id, min(topic) AS topic
FROM named
GROUP BY ledger_id
HAVING min(topic) = max(topic)
