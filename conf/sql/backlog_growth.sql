-- What becomes of each subscription's backlog: its growth over the last nights, and when it is empty if it goes on about as it did in them; `cannot_say` where they do not tell.
-- What lies before the last sixteen days with comparisons is not looked at, so that a long history costs nothing.
WITH days AS (
  SELECT cluster, day, row_number() OVER (PARTITION BY cluster ORDER BY day DESC) AS nth_day
  FROM (
    SELECT DISTINCT cluster, CAST(floor(unix_millis(compared_at) / 86400000.0D) AS bigint) AS day FROM backlogs
  ) AS each_day
),

recent AS (
  SELECT cluster, min(day) AS first_day FROM days WHERE nth_day <= 16 GROUP BY cluster
),

present AS (
  SELECT
    b.*,
    max(compared_at) OVER (PARTITION BY b.cluster) AS last_compared,
    max(compared_at) OVER (PARTITION BY b.cluster, topic, subscription) AS last_present,
    max(coalesce(saved_time, compared_at)) OVER (PARTITION BY b.cluster, topic, subscription) AS newest_time,
    row_number() OVER (
      PARTITION BY b.cluster, topic, subscription, saved_time
      ORDER BY CASE WHEN comparable THEN 0 ELSE 1 END, compared_at, run_id
    ) AS nth_of_state
  FROM backlogs AS b
  INNER JOIN recent AS r
    ON b.cluster = r.cluster AND unix_millis(b.compared_at) >= r.first_day * 86400000
),

-- A state that several audits went by is one night, and as the first of them saw it: the log grew since, the state did not.
nights AS (
  SELECT
    *,
    backlog_entries + coalesce(unstored_entries, 0) AS waiting,
    coalesce(
      (mark_delete_ledger_id, mark_delete_entry_id) < (
        lag(mark_delete_ledger_id) OVER (PARTITION BY cluster, topic, subscription ORDER BY saved_time),
        lag(mark_delete_entry_id) OVER (PARTITION BY cluster, topic, subscription ORDER BY saved_time)
      ),
      false
    ) AS is_reset
  FROM present
  WHERE last_present = last_compared AND nth_of_state = 1 AND comparable
),

-- A position that was set back begins a new series.
series AS (
  SELECT
    *,
    sum(CASE WHEN is_reset THEN 1 ELSE 0 END) OVER (
      PARTITION BY cluster, topic, subscription ORDER BY saved_time DESC
    ) - CASE WHEN is_reset THEN 1 ELSE 0 END AS resets_since,
    row_number() OVER (PARTITION BY cluster, topic, subscription ORDER BY saved_time DESC) AS nth
  FROM nights
),

-- The last eight nights: seven steps, so that each day of a week is among them.
steps AS (
  SELECT
    *,
    waiting - lag(waiting) OVER (PARTITION BY cluster, topic, subscription ORDER BY saved_time) AS growth,
    (unix_millis(saved_time) - lag(unix_millis(saved_time)) OVER (
      PARTITION BY cluster, topic, subscription ORDER BY saved_time
    )) / 86400000.0D AS days
  FROM series
  WHERE resets_since = 0 AND nth <= 8
),

sums AS (
  SELECT
    cluster, topic, subscription,
    max(newest_time) AS newest_time,
    max(saved_time) AS saved_time,
    (unix_millis(max(last_compared)) - unix_millis(max(saved_time))) / 86400000.0D AS days_since,
    (unix_millis(max(saved_time)) - unix_millis(min(saved_time))) / 86400000.0D AS days,
    count(*) AS nights,
    count(unstored_entries) AS counted_nights,
    max(CASE WHEN counted_by = 'stats' THEN 1 ELSE 0 END) AS by_stats,
    max(CASE WHEN nth = 1 THEN backlog_entries END) AS backlog_entries,
    max(CASE WHEN nth = 1 THEN unstored_entries END) AS unstored_entries,
    max(CASE WHEN nth = 1 THEN backlog_bytes END) AS backlog_bytes,
    max(CASE WHEN nth = 1 THEN oldest_unacked_time END) AS oldest_unacked_time,
    max(CASE WHEN nth = 1 THEN oldest_unacked_broker_time END) AS oldest_unacked_broker_time,
    max(CASE WHEN nth = 1 THEN waiting END) AS waiting,
    max(CASE WHEN nth = 1 THEN growth END) AS growth_entries,
    min(waiting) AS least,
    max(waiting) AS most,
    min(growth / days) AS lowest_per_day,
    max(growth / days) AS highest_per_day
  FROM steps
  GROUP BY cluster, topic, subscription
),

judged AS (
  SELECT
    *,
    CASE
      WHEN newest_time > saved_time THEN 'the newest state is unsure, or not all of its topic was read'
      WHEN nights < 4 THEN 'fewer than four nights since it was seen first, or since its position was set back'
      WHEN counted_nights < nights THEN 'ledgers that are not in the source hold entries that cannot be counted'
      WHEN days_since > 2 * days / (nights - 1) THEN 'its state was not saved anew for twice as long as it usually takes'
      WHEN waiting = 0 OR most - least <= 0.01D * most THEN NULL
      WHEN lowest_per_day <= 0 AND highest_per_day >= 0 THEN 'it grew in some nights and not in others'
      WHEN greatest(abs(lowest_per_day), abs(highest_per_day)) >= 3 * least(abs(lowest_per_day), abs(highest_per_day))
        THEN 'some nights were three times as fast as others, or more'
    END AS doubt
  FROM sums
),

directed AS (
  SELECT
    *,
    CASE
      WHEN doubt IS NOT NULL THEN 'cannot_say'
      WHEN waiting = 0 THEN 'empty'
      WHEN most - least <= 0.01D * most THEN 'flat'
      WHEN lowest_per_day > 0 THEN 'grows'
      ELSE 'drains'
    END AS direction
  FROM judged
),

-- Nights to come may be slower or faster than all that were seen: half as far again on each side as these lie apart.
timed AS (
  SELECT
    *,
    CASE WHEN direction = 'drains' THEN waiting / -(1.5D * lowest_per_day - 0.5D * highest_per_day) END AS days_at_least,
    CASE WHEN direction = 'drains' THEN waiting / -(1.5D * highest_per_day - 0.5D * lowest_per_day) END AS days_at_most
  FROM directed
)

SELECT
  cluster, topic, subscription, saved_time, nights, backlog_entries, unstored_entries, backlog_bytes, oldest_unacked_time,
  oldest_unacked_broker_time,
  growth_entries, lowest_per_day, highest_per_day, direction,
  CASE WHEN counted_nights < nights THEN NULL WHEN by_stats = 1 THEN 'stats' ELSE 'ledgers' END AS counted_by,
  CASE
    WHEN days_at_most <= 3 * days THEN timestamp_millis(unix_millis(saved_time) + CAST(days_at_least * 86400000 AS bigint))
  END AS empty_from,
  CASE
    WHEN days_at_most <= 3 * days THEN timestamp_millis(unix_millis(saved_time) + CAST(days_at_most * 86400000 AS bigint))
  END AS empty_until,
  CASE
    WHEN days_at_most > 3 * days THEN 'when it is empty lies further ahead than three times the nights that were seen'
    ELSE doubt
  END AS reason
FROM timed
ORDER BY cluster, topic, subscription
