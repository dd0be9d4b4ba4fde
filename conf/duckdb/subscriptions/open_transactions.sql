-- Made of conf/subscriptions/open_transactions.sql (026742cf36776e4e) by `make docs`; do not edit.
SELECT
  topic,
  first_place.ledger_id AS ledger_id,
  first_place.entry_id AS entry_id
FROM (
  SELECT
    topic,
    first_place,
    ROW_NUMBER() OVER (PARTITION BY topic ORDER BY first_place.ledger_id, first_place.entry_id) AS nth
  FROM (
    SELECT
      topic,
      MIN({'ledger_id': ledger_id, 'entry_id': entry_id}) AS first_place,
      BOOL_OR(
        CAST(marker_type IN ($commit, $abort)
        AND checksum_state <> 'mismatch' AS BOOLEAN)
      ) AS is_ended
    FROM entries
    WHERE
      topic IN ($topics) AND NOT txnid_most_bits IS NULL
    GROUP BY
      topic,
      txnid_most_bits,
      txnid_least_bits
  ) AS every
  WHERE
    NOT COALESCE(is_ended, FALSE)
) AS opened
WHERE
  nth <= 1000
ORDER BY
  topic,
  ledger_id,
  entry_id
