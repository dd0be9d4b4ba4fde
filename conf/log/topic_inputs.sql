-- What is known of the ledgers of each topic, a text for each copy, for the books of each scan and for each that is gone.
-- What a scan made of a ledger is a function of its books: it is the same until the ledger is scanned again.
SELECT
  topic,
  ledger_id,
  concat_ws(
    '|',
    'stored', copy, kind, CAST(selected AS string), coalesce(ledger_state, '-'), coalesce(data_etag, '-'),
    coalesce(CAST(data_bytes AS string), '-'), coalesce(CAST(expected_entries AS string), '-'),
    coalesce(CAST(expected_bytes AS string), '-'), coalesce(CAST(unix_millis(created_time) AS string), '-'),
    coalesce(CAST(unix_millis(closed_time) AS string), '-'), coalesce(CAST(offload_complete AS string), '-')
  ) AS words,
  selected AS is_read,
  FALSE AS is_partial,
  CAST(0 AS bigint) AS damaged
FROM ledgers

UNION ALL

SELECT
  topic,
  ledger_id,
  concat_ws(
    '|',
    'scanned', copy, coalesce(data_etag, '-'), CAST(data_bytes AS string), CAST(frames AS string),
    CAST(decoded AS string), CAST(rejected AS string), CAST(entry_bytes AS string), CAST(checksum_valid AS string),
    CAST(checksum_mismatch AS string), CAST(checksum_absent AS string), coalesce(CAST(expected_entries AS string), '-'),
    CAST(order_faults AS string), CAST(structure_faults AS string), CAST(unreadable_units AS string)
  ) AS words,
  TRUE AS is_read,
  NOT complete AS is_partial,
  CAST(checksum_mismatch + rejected + checksum_absent AS bigint) AS damaged
FROM scans

UNION ALL

-- Read by an earlier release, which did not keep what is asked now (conf/scan/pending.sql): it is read again, and its books stay.
SELECT topic, ledger_id, 'old' AS words, TRUE AS is_read, TRUE AS is_partial, CAST(0 AS bigint) AS damaged
FROM scans
WHERE
  ledger_id IN (SELECT ledger_id FROM noted_entries WHERE uri IS NULL)
  OR ledger_id IN (SELECT ledger_id FROM producer_facts WHERE last_message IS NULL AND entries > markers)
  OR ledger_id NOT IN (SELECT ledger_id FROM ledger_facts)

UNION ALL

SELECT topic, ledger_id, concat_ws('|', 'gone', CAST(scanned AS string)) AS words, FALSE, FALSE, CAST(0 AS bigint)
FROM gone_ledgers
