-- Made of conf/sql/schema_use.sql (45422f9e4e16660d) by `make docs`; do not edit.
WITH used AS (
  SELECT
    cluster,
    topic,
    RTRIM(REGEXP_REPLACE(topic || '|', '-partition-[0-9]+[|]', '|', 'g'), '|') AS base,
    HEX(schema_version) AS version_hex,
    COUNT(*) AS entries,
    MIN(ledger_id) AS first_ledger_id,
    MIN(publish_time) AS first_published,
    MAX(publish_time) AS last_published,
    MIN(CASE WHEN replicated_from IS NULL THEN publish_time END) AS first_own
  FROM entries AS e
  WHERE
    LENGTH(HEX(schema_version)) = 16
    AND marker_type IS NULL
    AND NOT EXISTS(SELECT
      1
    FROM gone_ledgers AS g
    WHERE
      e.cluster = g.cluster AND e.ledger_id = g.ledger_id)
  GROUP BY
    cluster,
    topic,
    HEX(schema_version)
), known AS (
  SELECT
    cluster,
    topic,
    LPAD(HEX(version), 16, '0') AS version_hex,
    MIN(version) AS version,
    MAX(
      CASE
        WHEN is_listed AND verdict = 'ok'
        THEN 3
        WHEN verdict = 'cannot_tell'
        THEN 2
        WHEN is_listed AND verdict = 'lost'
        THEN 1
        WHEN is_listed = FALSE
        THEN 0
        ELSE 2
      END
    ) AS best,
    MIN(CASE WHEN is_listed AND verdict = 'ok' THEN stored_time END) AS stored_time
  FROM schema_versions
  WHERE
    version >= 0
  GROUP BY
    cluster,
    topic,
    LPAD(HEX(version), 16, '0')
), newest AS (
  SELECT
    cluster,
    topic,
    MAX(LPAD(HEX(version), 16, '0')) AS version_hex
  FROM schema_versions
  WHERE
    is_listed
  GROUP BY
    cluster,
    topic
), saved AS (
  SELECT
    cluster,
    MAX(stored_time) AS not_before
  FROM schema_versions
  WHERE
    is_listed
  GROUP BY
    cluster
), judged AS (
  SELECT
    u.*,
    k.version,
    k.stored_time,
    CASE
      WHEN k.best = 3 AND u.first_own < k.stored_time - INTERVAL '10' MINUTES
      THEN 'stored_later'
      WHEN k.best = 3
      THEN 'ok'
      WHEN k.best = 2
      THEN 'cannot_tell'
      WHEN k.best = 1
      THEN 'lost'
      WHEN k.best = 0
      THEN 'unlisted'
      WHEN u.version_hex < n.version_hex
      OR u.last_published < d.not_before - INTERVAL '10' MINUTES
      THEN 'unlisted'
      ELSE 'cannot_tell'
    END AS verdict
  FROM used AS u
  LEFT JOIN known AS k
    ON u.cluster = k.cluster AND u.base = k.topic AND u.version_hex = k.version_hex
  LEFT JOIN newest AS n
    ON u.cluster = n.cluster AND u.base = n.topic
  LEFT JOIN saved AS d
    ON u.cluster = d.cluster
)
SELECT
  topic,
  version_hex,
  version,
  verdict,
  CASE verdict
    WHEN 'ok'
    THEN 'The version is there and can be read.'
    WHEN 'lost'
    THEN 'The metadata store names the version, and its ledger is gone: nobody can decode these messages by it.'
    WHEN 'unlisted'
    THEN 'The metadata store does not list this version: it was deleted, or the schema was and began anew.'
    WHEN 'stored_later'
    THEN 'The version of this number was stored after these messages were published: the schema was deleted and began anew, and clients decode them by another schema than they were written with.'
    ELSE 'Nothing that was saved and read says what became of the version.'
  END AS reason,
  entries,
  first_ledger_id,
  first_published,
  last_published,
  stored_time,
  cluster
FROM judged
ORDER BY
  CASE verdict
    WHEN 'lost'
    THEN 0
    WHEN 'unlisted'
    THEN 1
    WHEN 'stored_later'
    THEN 2
    WHEN 'cannot_tell'
    THEN 3
    ELSE 4
  END,
  cluster,
  topic,
  version_hex
