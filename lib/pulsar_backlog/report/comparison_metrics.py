"""The numbers of a comparison in the text format of Prometheus; names and labels: docs/monitoring.md.

Topics and subscriptions beyond `BOUND` are summed under the label `(others)`, those that differ most first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from prometheus_client import generate_latest

from pulsar_backlog.report.metrics import BOUND, OTHERS, Gauges

VERDICTS = ("equal", "explained", "differs", "cannot_tell")
KINDS = (
    *((kind, side) for kind in ("missing", "duplicate", "broken", "policy", "in_flight") for side in ("a", "b")),
    ("order", "both"), ("content", "both"),
)  # fmt: skip
_SUMS = ("messages_a", "messages_b", "unsure", *(f"{kind}_{side}" for kind, side in KINDS))
_NAMES = ("topic", "subscription", "side")

Row = Mapping[str, Any]


def comparison_exposition(
    cluster: str, at_ms: int, exit_code: int, topics: Sequence[Row], subscriptions: Sequence[Row]
) -> str:
    """All numbers as text that Prometheus scrapes.

    Args:
        cluster: that the tables of the comparison name.
        at_ms: when it ended.
        exit_code: that it asks for.
        topics: rows of `compared_topics`.
        subscriptions: rows of `compared_subscriptions`.
    """
    gauges = Gauges(cluster)
    gauges.put("comparison_timestamp_seconds", "When the comparison ended, seconds since 1970.", at_ms / 1000)
    gauges.put("comparison_exit_code", "Exit code that the comparison asked for.", exit_code)
    verdicts = Counter(row["verdict"] for row in topics)
    for verdict in VERDICTS:
        gauges.put("compared_topics", "Compared topics by verdict.", verdicts[verdict], verdict=verdict)
    worst = sorted(topics, key=lambda row: (-_differences(row), -row["messages_a"], row["topic"]))
    for row in worst[:BOUND]:
        _put_topic(gauges, row["topic"], row)
    if worst[BOUND:]:
        _put_topic(gauges, OTHERS, {name: sum(row[name] for row in worst[BOUND:]) for name in _SUMS})
    _put_subscriptions(gauges, subscriptions)
    return generate_latest(gauges.registry).decode()


def _differences(row: Row) -> int:
    return sum(int(row[f"{kind}_{side}"]) for kind, side in KINDS)


def _put_topic(gauges: Gauges, topic: str, row: Row) -> None:
    for side in ("a", "b"):
        words = "Messages of a compared topic by side."
        gauges.put("compared_messages", words, row[f"messages_{side}"], topic=topic, side=side)
    for kind, side in KINDS:
        words = "Messages that the sides do not agree on, by kind and side."
        gauges.put("differences", words, row[f"{kind}_{side}"], topic=topic, kind=kind, side=side)
    gauges.put("unsure_differences", "Differences that are not certain.", row["unsure"], topic=topic)


def _put_subscriptions(gauges: Gauges, rows: Sequence[Row]) -> None:
    decided = [row for row in rows if row["again_messages"] is not None]
    decided.sort(
        key=lambda row: (-_skipped(row), -row["again_messages"], row["topic"], row["subscription"], row["side"])
    )
    for at, row in enumerate(decided):
        names = {"topic": row["topic"], "subscription": row["subscription"]}
        labels = {**(names if at < BOUND else dict.fromkeys(names, OTHERS)), "side": row["side"]}
        words = "Messages that consumers would get again, if they went to a side now."
        gauges.put("failover_again_messages", words, row["again_messages"], **labels)
        words = "Messages that consumers would never get, if they went to a side now."
        gauges.put("failover_skipped_messages", words, _skipped(row), **labels)


def _skipped(row: Row) -> int:
    return int(row["acked_messages"] or 0) + int(row["absent_messages"] or 0)
