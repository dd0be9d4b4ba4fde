-- Made of conf/sql/replication.sql (81ac56bf1bda3b5f) by `make docs`; do not edit.
SELECT
  s.topic,
  s.subscription AS replicator,
  CASE
    WHEN s.state = 'unknown' OR s.backlog_entries IS NULL
    THEN 'cannot_tell'
    WHEN s.hole_entries > 0
    THEN 'passed_over'
    WHEN s.backlog_entries > 0
    THEN 'behind'
    ELSE 'caught_up'
  END AS verdict,
  s.mark_delete_ledger_id,
  s.mark_delete_entry_id,
  s.backlog_entries,
  s.backlog_messages,
  s.backlog_bytes,
  s.hole_entries AS entries_passed_over,
  s.oldest_unacked_ledger_id AS oldest_ledger_id,
  s.oldest_unacked_entry_id AS oldest_entry_id,
  s.oldest_unacked_time AS oldest_time,
  COALESCE(v.saved_time, v.read_time) AS saved_time,
  s.sureness,
  s.cluster
FROM subscriptions AS s
LEFT JOIN saved_states AS v
  ON s.cluster = v.cluster AND s.topic = v.topic
WHERE
  s.kind = 'replicator' AND s.subscription NOT LIKE 'pulsar.repl-%'
ORDER BY
  s.backlog_entries DESC,
  s.cluster,
  s.topic,
  s.subscription
