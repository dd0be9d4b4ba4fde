-- Scalable topics (Pulsar 5), the worst first, each with the number of all and of its subscriptions.
SELECT *
FROM (
  SELECT
    t.topic, t.segments, t.active, t.sealed, t.pruned, t.unknown, t.migrated, t.ledgers, t.entries, t.bytes,
    t.chunked_messages, t.not_whole, t.stalls, t.errors, t.warnings, t.incomplete,
    coalesce(s.subscription_total, 0) AS subscription_total,
    count(*) OVER () AS topic_total,
    row_number() OVER (
      ORDER BY t.errors DESC, t.incomplete DESC, t.warnings DESC, t.bytes DESC, t.topic
    ) AS place
  FROM scalable_topics AS t
  LEFT JOIN (SELECT topic, count(*) AS subscription_total FROM scalable_subscriptions GROUP BY topic) AS s
    ON t.topic = s.topic
) AS numbered
WHERE place <= $scalable
ORDER BY place
