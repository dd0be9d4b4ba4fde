"""What a subscription has not acknowledged, entry by entry; no JVM is started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql.duck import opened, rows_of
from pulsar_backlog.sql.duck_values import literal

_SUBSCRIPTIONS = "SELECT cluster, topic, subscription, subscription_type, state, backlog_entries FROM subscriptions"
_ENTRIES = (
    "SELECT e.uuid, e.chunk_id, e.num_chunks_from_msg, e.partition_key, "
    "COALESCE(e.compression, 'NONE') != 'NONE' AS is_compressed FROM entries AS e JOIN ack_ranges AS r "
    "ON e.cluster = r.cluster AND e.ledger_id = r.ledger_id AND e.topic = r.topic "
    "AND e.entry_id BETWEEN r.first_entry_id AND r.last_entry_id"
)
_GONE = "NOT EXISTS (SELECT 1 FROM gone_ledgers AS g WHERE e.cluster = g.cluster AND e.ledger_id = g.ledger_id)"


@dataclass(frozen=True)
class Unacknowledged:
    """A subscription's entries.

    Attributes:
        cluster: whose it is.
        topic: full name.
        subscription_type: null when no saved statistics say.
        entries: in order; uuid, chunk_id, num_chunks_from_msg, partition_key, is_compressed.
    """

    cluster: str
    topic: str
    subscription_type: str | None
    entries: list[dict[str, Any]]


def unacknowledged(out: str, topic: str, subscription: str, most: int, endpoint: str | None = None) -> Unacknowledged:
    """The unacknowledged entries of a subscription, at most so many and one more.

    Raises:
        UsageError: there is no such subscription, it is in several clusters, or its state is not known.
    """
    whose = f"topic = {literal(topic)} AND subscription = {literal(subscription)}"
    with opened(out, _SUBSCRIPTIONS, endpoint) as connection:
        rows = rows_of(connection, f"{_SUBSCRIPTIONS} WHERE {whose}")
    if len(rows) != 1:
        clusters = "no subscription" if not rows else f"{len(rows)} clusters with a subscription"
        raise UsageError(f"the tables of {out} hold {clusters} {subscription!r} of {topic}; give the topic's full name")
    row = rows[0]
    if row["state"] == "unknown":
        raise UsageError(f"where {subscription!r} of {topic} is, is not known: a forecast needs its acknowledged set")
    query = f"{_ENTRIES} WHERE r.{whose.replace(' AND ', ' AND r.', 1)} AND e.marker_type IS NULL AND {_GONE}"
    with opened(out, query, endpoint) as connection:
        entries = rows_of(connection, f"{query} ORDER BY e.ledger_id, e.entry_id LIMIT {most + 1:d}")
    return Unacknowledged(row["cluster"], row["topic"], row["subscription_type"], entries)
