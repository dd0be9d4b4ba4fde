-- Made of conf/sql/integrity.sql (5efe73277e00bfdd) by `make docs`; do not edit.
WITH faults AS (
  SELECT
    l.cluster,
    l.ledger_id,
    l.copy,
    r.scope,
    r.code,
    r.uri,
    r."offset"
  FROM ledgers AS l
  INNER JOIN rejects AS r
    ON l.cluster = r.cluster
    AND l.ledger_id = r.ledger_id
    AND (
      l.data_uri = r.uri OR l.checksum_uri = r.uri OR l.kind IN ('bookies', 'streaming')
    )
  WHERE
    l.selected AND r.code <> 'entries_elsewhere'
  UNION ALL
  SELECT
    f.cluster,
    f.ledger_id,
    f.copy,
    'structure' AS scope,
    f.fault.code,
    f.fault.uri,
    f.fault."offset"
  FROM (
    SELECT
      cluster,
      ledger_id,
      copy,
      UNNEST(structure_faults) AS fault
    FROM ledgers
  ) AS f
), layered AS (
  SELECT
    f.*,
    CASE
      WHEN f.uri = l.index_uri OR (
        l.kind = 'streaming' AND f.uri LIKE '%-index'
      )
      THEN 'index'
      WHEN f.scope = 'entry'
      OR f.code IN (
        'entry_id_out_of_order',
        'block_entry_count',
        'digest_mismatch',
        'digest_unverified',
        'copies_differ',
        'entries_absent'
      )
      THEN 'record'
      ELSE 'container'
    END AS layer
  FROM faults AS f
  INNER JOIN ledgers AS l
    ON f.cluster = l.cluster AND f.ledger_id = l.ledger_id AND f.copy = l.copy
  UNION ALL
  SELECT
    l.cluster,
    l.ledger_id,
    l.copy,
    'entry' AS scope,
    'checksum_mismatch' AS code,
    l.data_uri AS uri,
    n."offset",
    'message' AS layer
  FROM ledgers AS l
  INNER JOIN noted_entries AS n
    ON l.cluster = n.cluster AND l.ledger_id = n.ledger_id
  WHERE
    l.selected AND n.checksum_state = 'mismatch'
), first_fault AS (
  SELECT
    y.cluster,
    y.ledger_id,
    y.copy,
    y.layer,
    COUNT(*) AS faults,
    MIN(y."offset") AS at_byte,
    ARG_MIN_NULL(y.code, y."offset") AS code,
    ARG_MIN_NULL(y.uri, y."offset") AS uri
  FROM layered AS y
  GROUP BY
    y.cluster,
    y.ledger_id,
    y.copy,
    y.layer
), copies AS (
  SELECT
    l.*,
    NOT s.copy IS NULL AS scanned,
    COALESCE(s.complete, FALSE) AS complete,
    COALESCE(s.frames, 0) AS frames,
    COALESCE(s.rejected, 0) AS rejected,
    COALESCE(s.entry_bytes, 0) AS entry_bytes,
    COALESCE(s.checksum_valid, 0) AS valid,
    COALESCE(s.checksum_mismatch, 0) AS mismatch,
    COALESCE(s.checksum_absent, 0) AS absent,
    COALESCE(s.unreadable_units, 0) AS unread
  FROM ledgers AS l
  LEFT JOIN scans AS s
    ON l.cluster = s.cluster AND l.ledger_id = s.ledger_id AND l.copy = s.copy
), counted AS (
  SELECT
    cluster,
    ledger_id,
    copy,
    1 AS place,
    'index' AS layer,
    CASE WHEN index_uri IS NULL THEN 0 ELSE 1 END AS checked,
    CASE WHEN index_uri IS NULL THEN 1 ELSE 0 END AS unchecked,
    0 AS missing,
    'magic, lengths, order, and its sums against the ledger metadata and the data' AS checked_by,
    CASE
      WHEN index_uri IS NULL
      THEN 'there is no index'
      ELSE 'no checksum covers it'
    END AS not_checked
  FROM copies
  WHERE
    kind <> 'bookies'
  UNION ALL
  SELECT
    cluster,
    ledger_id,
    copy,
    2 AS place,
    'container' AS layer,
    CASE WHEN scanned THEN block_count - unread ELSE 0 END AS checked,
    CASE WHEN scanned THEN unread ELSE COALESCE(block_count, 0) END AS unchecked,
    0 AS missing,
    CASE
      WHEN kind IN ('jcloud', 'streaming')
      THEN 'block headers, unused bytes, entry headers, padding'
      WHEN kind = 'bookies'
      THEN 'headers of entry logs and journals, sizes of records'
      WHEN checksum_uri IS NULL
      THEN 'header, sync markers, lengths, and the sums that the codec keeps'
      ELSE 'header, sync markers, lengths, the sums that the codec keeps, and the checksum file over every byte'
    END AS checked_by,
    CASE
      WHEN NOT scanned
      THEN 'this copy was not scanned'
      WHEN kind IN ('jcloud', 'streaming')
      THEN 'no checksum covers a block'
      WHEN kind = 'bookies'
      THEN 'no checksum covers what lies between records'
      WHEN checksum_uri IS NULL
      THEN 'no checksum file: keys and lengths of NONE and RECORD files, and what Snappy or LZ4 compressed'
    END AS not_checked
  FROM copies
  UNION ALL
  SELECT
    cluster,
    ledger_id,
    copy,
    3 AS place,
    'record' AS layer,
    frames AS checked,
    CASE
      WHEN complete AND kind <> 'bookies'
      THEN 0
      WHEN expected_entries > frames
      THEN expected_entries - frames
      ELSE 0
    END AS unchecked,
    CASE
      WHEN NOT complete OR kind = 'bookies'
      THEN 0
      WHEN expected_entries > frames
      THEN expected_entries - frames
      WHEN expected_entries = frames AND expected_bytes <> entry_bytes
      THEN 1
      ELSE 0
    END AS missing,
    CASE
      WHEN kind = 'bookies'
      THEN 'the digest that the bookie keeps, ids, parts and metadata readable'
      ELSE 'ids one after another, number and sum of bytes as promised, parts and metadata readable'
    END AS checked_by,
    CASE
      WHEN NOT scanned
      THEN 'this copy was not scanned'
      WHEN kind = 'bookies'
      THEN 'entries on other bookies, and digests of another password'
      WHEN expected_entries IS NULL
      THEN 'nothing promises how many there are; the digest of BookKeeper is not offloaded'
      ELSE 'the digest that BookKeeper keeps of each record is not offloaded'
    END AS not_checked
  FROM copies
  UNION ALL
  SELECT
    cluster,
    ledger_id,
    copy,
    4 AS place,
    'message' AS layer,
    valid + mismatch AS checked,
    absent + rejected + CASE WHEN expected_entries > frames THEN expected_entries - frames ELSE 0 END AS unchecked,
    0 AS missing,
    'CRC-32C over metadata and payload' AS checked_by,
    CASE
      WHEN NOT scanned
      THEN 'this copy was not scanned'
      WHEN absent > 0
      THEN 'entries without a checksum; broker metadata, which none covers'
      ELSE 'broker metadata, which no checksum covers'
    END AS not_checked
  FROM copies
)
SELECT
  l.topic,
  c.ledger_id,
  c.copy,
  l.kind,
  l.selected,
  c.layer,
  CASE
    WHEN COALESCE(f.faults, 0) + c.missing > 0
    THEN 'failed'
    WHEN c.checked = 0
    THEN 'not_checked'
    WHEN c.unchecked > 0
    THEN 'partly'
    ELSE 'agrees'
  END AS verdict,
  CAST(c.checked AS BIGINT) AS checked,
  CAST(TRUNC(COALESCE(f.faults, 0) + c.missing) AS BIGINT) AS failed,
  CAST(TRUNC(c.unchecked) AS BIGINT) AS unchecked,
  f.code AS first_failed_code,
  f.uri AS first_failed_uri,
  f.at_byte AS first_failed_offset,
  c.checked_by,
  c.not_checked,
  c.cluster
FROM counted AS c
INNER JOIN ledgers AS l
  ON c.cluster = l.cluster AND c.ledger_id = l.ledger_id AND c.copy = l.copy
LEFT JOIN first_fault AS f
  ON c.cluster = f.cluster
  AND c.ledger_id = f.ledger_id
  AND c.copy = f.copy
  AND c.layer = f.layer
ORDER BY
  c.cluster,
  l.topic,
  c.ledger_id,
  c.copy,
  c.place
