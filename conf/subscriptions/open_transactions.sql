-- Where transactions begin that no marker of their topic ends, a thousand of a topic at most.
-- A marker whose checksum does not agree is not believed: which transaction it ends may be what was damaged.
SELECT topic, first_place.ledger_id AS ledger_id, first_place.entry_id AS entry_id
FROM (
  SELECT
    topic,
    first_place,
    row_number() OVER (PARTITION BY topic ORDER BY first_place.ledger_id, first_place.entry_id) AS nth
  FROM (
    SELECT
      topic,
      min(named_struct('ledger_id', ledger_id, 'entry_id', entry_id)) AS first_place,
      bool_or(marker_type IN ($commit, $abort) AND checksum_state != 'mismatch') AS is_ended
    FROM entries
    WHERE topic IN ($topics) AND txnid_most_bits IS NOT NULL
    GROUP BY topic, txnid_most_bits, txnid_least_bits
  ) AS every
  WHERE NOT coalesce(is_ended, FALSE)
) AS opened
WHERE nth <= 1000
ORDER BY topic, ledger_id, entry_id
