-- Made of conf/chunks/lost_to_deduplication.sql (d9c9f772434607d2) by `make docs`; do not edit.
WITH looked AS (
  SELECT
    topic,
    producer_name,
    sequence_id,
    state,
    flags,
    sureness,
    num_chunks,
    present_chunks,
    first_ledger_id,
    first_entry_id,
    last_ledger_id,
    last_entry_id,
    MAX(CASE WHEN ARRAY_CONTAINS(flags, 'prefix_residue') THEN 1 ELSE 0 END) OVER (PARTITION BY topic) AS residues,
    MAX(first_ledger_id) OVER alike AS newest_ledger_id,
    ARG_MAX_NULL(first_entry_id, (first_ledger_id, first_entry_id)) OVER alike AS newest_entry_id
  FROM chunked_messages
  WINDOW alike AS (PARTITION BY topic, producer_name, total_bytes)
), lost AS (
  SELECT
    l.topic,
    l.first_ledger_id,
    l.first_entry_id,
    l.sureness,
    (l.newest_ledger_id, l.newest_entry_id) > (l.last_ledger_id, l.last_entry_id) AS is_retried
  FROM looked AS l
  INNER JOIN producers AS p
    ON l.topic = p.topic AND l.producer_name = p.producer_name
  LEFT JOIN known AS k
    ON l.topic = k.topic
  WHERE
    l.state = 'orphan_prefix'
    AND (
      COALESCE(k.is_deduplicated, FALSE) OR l.residues = 1
    )
    AND l.present_chunks IN (1, l.num_chunks - 1)
    AND p.last_sent.sequence_id > l.sequence_id
    AND (p.last_sent.ledger_id, p.last_sent.entry_id) > (l.last_ledger_id, l.last_entry_id)
    AND NOT ARRAY_CONTAINS(l.flags, 'uuid_reused')
    AND NOT ARRAY_CONTAINS(l.flags, $no_loss)
)
SELECT
  topic,
  first_ledger_id AS ledger_id,
  first_entry_id AS entry_id,
  CASE
    WHEN is_retried OR sureness = 'cannot_tell'
    THEN 'cannot_tell'
    ELSE 'likely'
  END AS sureness,
  CASE
    WHEN is_retried
    THEN 'a later message of the same size may be a retry'
    ELSE 'the producer went on in order, and deduplication is on'
  END AS reason,
  'C16' AS code
FROM lost
