-- Made of conf/chunks/blocked_tails.sql (e2f154824b1acc79) by `make docs`; do not edit.
SELECT
  m.topic,
  m.first_ledger_id AS ledger_id,
  m.first_entry_id AS entry_id,
  CASE WHEN k.is_seen_to_end THEN m.sureness ELSE 'cannot_tell' END AS sureness,
  CASE
    WHEN k.is_seen_to_end
    THEN m.reason
    ELSE 'the topic may go on after what is seen of it'
  END AS reason,
  'C27' AS code
FROM chunked_messages AS m
INNER JOIN (
  SELECT
    topic,
    MAX(last_message) AS place
  FROM producers
  GROUP BY
    topic
) AS e
  ON m.topic = e.topic
  AND e.place.ledger_id = m.last_ledger_id
  AND e.place.entry_id = m.last_entry_id
LEFT JOIN known AS k
  ON m.topic = k.topic
WHERE
  m.state IN ($incomplete)
