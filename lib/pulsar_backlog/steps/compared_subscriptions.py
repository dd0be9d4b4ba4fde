"""Subscriptions of both sides: what their consumers would get again, or never, if they went to the other side now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from pulsar_backlog.findings import CATALOGUE, MAX_EVIDENCE, Finding
from pulsar_backlog.sql.audited_side import AuditedSide
from pulsar_backlog.sql.digests import Digests
from pulsar_backlog.sql.failover import COUNTS, RANGES, Acknowledgements, failover
from pulsar_backlog.steps.cluster_comparison import TopicPair
from pulsar_backlog.terms import Sureness, least_sure

_SKIPS = "D11"
_NAMES = {"a": "A", "b": "B"}

Row = dict[str, Any]


def compared_subscriptions(
    digests: Digests, sides: Mapping[str, AuditedSide], cluster: str, topics: Sequence[Row]
) -> Iterator[Row]:
    """Rows of `compared_subscriptions`.

    Args:
        digests: of the comparison.
        sides: both audits.
        cluster: of the comparison.
        topics: rows of `compared_topics`.
    """
    cursors_of = {
        side: {(row["topic"], row["subscription"]): row for row in audit.cursors} for side, audit in sides.items()
    }
    for topic in topics:
        pair = TopicPair(topic["topic"], topic["topic_b"])
        names = {name for of, name in cursors_of["a"] if of == pair.a} | {
            name for of, name in cursors_of["b"] if of == pair.b
        }
        is_read = not (topic["unread_a"] or topic["unread_b"])
        for name in sorted(names):
            cursors = {"a": cursors_of["a"].get((pair.a, name)), "b": cursors_of["b"].get((pair.b, name))}
            yield from _rows(digests, sides, cluster, pair, name, cursors, is_read=is_read)


def _rows(
    digests: Digests, sides: Mapping[str, AuditedSide], cluster: str, pair: TopicPair, name: str,
    cursors: Mapping[str, Row | None], *, is_read: bool,
) -> Iterator[Row]:  # fmt: skip
    why = _unknown(cursors)
    counts: Mapping[str, Mapping[str, int | None]] = {side: dict.fromkeys(COUNTS) for side in sides}
    sureness, reason = _sureness(cursors, is_read=is_read) if why is None else ("cannot_tell", why)
    if why is None:
        states = {
            side: Acknowledgements(topic, pa.Table.from_pylist(sides[side].unacked(topic, name), schema=RANGES))
            for side, topic in (("a", pair.a), ("b", pair.b))
        }
        counts = failover(digests.connection, cluster, states)
    for side, other in (("a", "b"), ("b", "a")):
        leaves = cursors[other]
        yield {
            "cluster": cluster, "topic": pair.a, "topic_b": pair.b, "subscription": name, "side": side,
            "replicated": leaves["replicated"] if leaves else None, **counts[side], "sureness": sureness,
            "reason": reason,
        }  # fmt: skip


def _unknown(cursors: Mapping[str, Row | None]) -> str | None:
    """Why nothing can be counted; None where it can."""
    for side, cursor in cursors.items():
        if cursor is None:
            return f"{_NAMES[side]} knows no such subscription: its consumers would begin there as of a new one"
        if cursor["state"] == "unknown":
            return f"nothing says where the subscription is in {_NAMES[side]}"
    return None


def _sureness(cursors: Mapping[str, Row | None], *, is_read: bool) -> tuple[Sureness, str]:
    sureness: Sureness = least_sure(cursor["sureness"] for cursor in cursors.values() if cursor)
    words = [f"{_NAMES[side]}: {cursor['reason']}" for side, cursor in cursors.items() if cursor]
    if not is_read:
        sureness = least_sure((sureness, "likely"))
        words.append("entries and ledgers of the topic could not be read")
    return sureness, "; ".join(words)


def skip_findings(rows: Sequence[Row]) -> Iterator[Finding]:
    """D11, one for each topic and side."""
    grouped: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["replicated"] and row["acked_messages"]:
            grouped.setdefault((row["topic"], row["side"]), []).append(row)
    for (topic, side), skips in sorted(grouped.items()):
        count = sum(row["acked_messages"] for row in skips)
        yield Finding(
            _SKIPS, f"{topic} {side}", f"{CATALOGUE[_SKIPS].counted}, on {_NAMES[side]}: {count}, in {topic}.",
            topic=topic, count=count, sureness=least_sure(row["sureness"] for row in skips), reason=skips[0]["reason"],
            evidence=tuple(f"{row['subscription']}: {row['acked_messages']}" for row in skips[:MAX_EVIDENCE]),
        )  # fmt: skip
