-- Made of conf/sql/backlog_growth.sql (11d566ce24aa0ad9) by `make docs`; do not edit.
WITH days AS (
  SELECT
    cluster,
    day,
    ROW_NUMBER() OVER (PARTITION BY cluster ORDER BY day DESC) AS nth_day
  FROM (
    SELECT DISTINCT
      cluster,
      CAST(FLOOR(EPOCH_MS(compared_at) / NULLIF(CAST(86400000.0 AS DOUBLE), 0)) AS BIGINT) AS day
    FROM backlogs
  ) AS each_day
), recent AS (
  SELECT
    cluster,
    MIN(day) AS first_day
  FROM days
  WHERE
    nth_day <= 16
  GROUP BY
    cluster
), present AS (
  SELECT
    b.*,
    MAX(compared_at) OVER (PARTITION BY b.cluster) AS last_compared,
    MAX(compared_at) OVER (PARTITION BY b.cluster, topic, subscription) AS last_present,
    MAX(COALESCE(saved_time, compared_at)) OVER (PARTITION BY b.cluster, topic, subscription) AS newest_time,
    ROW_NUMBER() OVER (
      PARTITION BY b.cluster, topic, subscription, saved_time
      ORDER BY CASE WHEN comparable THEN 0 ELSE 1 END, compared_at, run_id
    ) AS nth_of_state
  FROM backlogs AS b
  INNER JOIN recent AS r
    ON b.cluster = r.cluster AND EPOCH_MS(b.compared_at) >= r.first_day * 86400000
), nights AS (
  SELECT
    *,
    backlog_entries + COALESCE(unstored_entries, 0) AS waiting,
    COALESCE(
      (mark_delete_ledger_id, mark_delete_entry_id) < (
        LAG(mark_delete_ledger_id) OVER (PARTITION BY cluster, topic, subscription ORDER BY saved_time),
        LAG(mark_delete_entry_id) OVER (PARTITION BY cluster, topic, subscription ORDER BY saved_time)
      ),
      FALSE
    ) AS is_reset
  FROM present
  WHERE
    last_present = last_compared AND nth_of_state = 1 AND comparable
), series AS (
  SELECT
    *,
    SUM(CASE WHEN is_reset THEN 1 ELSE 0 END) OVER (PARTITION BY cluster, topic, subscription ORDER BY saved_time DESC) - CASE WHEN is_reset THEN 1 ELSE 0 END AS resets_since,
    ROW_NUMBER() OVER (PARTITION BY cluster, topic, subscription ORDER BY saved_time DESC) AS nth
  FROM nights
), steps AS (
  SELECT
    *,
    waiting - LAG(waiting) OVER (PARTITION BY cluster, topic, subscription ORDER BY saved_time) AS growth,
    (
      EPOCH_MS(saved_time) - LAG(EPOCH_MS(saved_time)) OVER (PARTITION BY cluster, topic, subscription ORDER BY saved_time)
    ) / NULLIF(CAST(86400000.0 AS DOUBLE), 0) AS days
  FROM series
  WHERE
    resets_since = 0 AND nth <= 8
), sums AS (
  SELECT
    cluster,
    topic,
    subscription,
    MAX(newest_time) AS newest_time,
    MAX(saved_time) AS saved_time,
    (
      EPOCH_MS(MAX(last_compared)) - EPOCH_MS(MAX(saved_time))
    ) / NULLIF(CAST(86400000.0 AS DOUBLE), 0) AS days_since,
    (
      EPOCH_MS(MAX(saved_time)) - EPOCH_MS(MIN(saved_time))
    ) / NULLIF(CAST(86400000.0 AS DOUBLE), 0) AS days,
    COUNT(*) AS nights,
    COUNT(unstored_entries) AS counted_nights,
    MAX(CASE WHEN counted_by = 'stats' THEN 1 ELSE 0 END) AS by_stats,
    MAX(CASE WHEN nth = 1 THEN backlog_entries END) AS backlog_entries,
    MAX(CASE WHEN nth = 1 THEN unstored_entries END) AS unstored_entries,
    MAX(CASE WHEN nth = 1 THEN backlog_bytes END) AS backlog_bytes,
    MAX(CASE WHEN nth = 1 THEN oldest_unacked_time END) AS oldest_unacked_time,
    MAX(CASE WHEN nth = 1 THEN oldest_unacked_broker_time END) AS oldest_unacked_broker_time,
    MAX(CASE WHEN nth = 1 THEN waiting END) AS waiting,
    MAX(CASE WHEN nth = 1 THEN growth END) AS growth_entries,
    MIN(waiting) AS least,
    MAX(waiting) AS most,
    MIN(growth / NULLIF(days, 0)) AS lowest_per_day,
    MAX(growth / NULLIF(days, 0)) AS highest_per_day
  FROM steps
  GROUP BY
    cluster,
    topic,
    subscription
), judged AS (
  SELECT
    *,
    CASE
      WHEN newest_time > saved_time
      THEN 'the newest state is unsure, or not all of its topic was read'
      WHEN nights < 4
      THEN 'fewer than four nights since it was seen first, or since its position was set back'
      WHEN counted_nights < nights
      THEN 'ledgers that are not in the source hold entries that cannot be counted'
      WHEN days_since > 2 * days / NULLIF((
        nights - 1
      ), 0)
      THEN 'its state was not saved anew for twice as long as it usually takes'
      WHEN waiting = 0 OR most - least <= CAST(0.01 AS DOUBLE) * most
      THEN NULL
      WHEN lowest_per_day <= 0 AND highest_per_day >= 0
      THEN 'it grew in some nights and not in others'
      WHEN GREATEST(ABS(lowest_per_day), ABS(highest_per_day)) >= 3 * LEAST(ABS(lowest_per_day), ABS(highest_per_day))
      THEN 'some nights were three times as fast as others, or more'
    END AS doubt
  FROM sums
), directed AS (
  SELECT
    *,
    CASE
      WHEN NOT doubt IS NULL
      THEN 'cannot_say'
      WHEN waiting = 0
      THEN 'empty'
      WHEN most - least <= CAST(0.01 AS DOUBLE) * most
      THEN 'flat'
      WHEN lowest_per_day > 0
      THEN 'grows'
      ELSE 'drains'
    END AS direction
  FROM judged
), timed AS (
  SELECT
    *,
    CASE
      WHEN direction = 'drains'
      THEN waiting / NULLIF(
        -(
          CAST(1.5 AS DOUBLE) * lowest_per_day - CAST(0.5 AS DOUBLE) * highest_per_day
        ),
        0
      )
    END AS days_at_least,
    CASE
      WHEN direction = 'drains'
      THEN waiting / NULLIF(
        -(
          CAST(1.5 AS DOUBLE) * highest_per_day - CAST(0.5 AS DOUBLE) * lowest_per_day
        ),
        0
      )
    END AS days_at_most
  FROM directed
)
SELECT
  cluster,
  topic,
  subscription,
  saved_time,
  nights,
  backlog_entries,
  unstored_entries,
  backlog_bytes,
  oldest_unacked_time,
  oldest_unacked_broker_time,
  growth_entries,
  lowest_per_day,
  highest_per_day,
  direction,
  CASE
    WHEN counted_nights < nights
    THEN NULL
    WHEN by_stats = 1
    THEN 'stats'
    ELSE 'ledgers'
  END AS counted_by,
  CASE
    WHEN days_at_most <= 3 * days
    THEN CAST(EPOCH_MS(CAST(EPOCH_MS(saved_time) + CAST(TRUNC(days_at_least * 86400000) AS BIGINT) AS BIGINT)) AS TIMESTAMPTZ)
  END AS empty_from,
  CASE
    WHEN days_at_most <= 3 * days
    THEN CAST(EPOCH_MS(CAST(EPOCH_MS(saved_time) + CAST(TRUNC(days_at_most * 86400000) AS BIGINT) AS BIGINT)) AS TIMESTAMPTZ)
  END AS empty_until,
  CASE
    WHEN days_at_most > 3 * days
    THEN 'when it is empty lies further ahead than three times the nights that were seen'
    ELSE doubt
  END AS reason
FROM timed
ORDER BY
  cluster,
  topic,
  subscription
