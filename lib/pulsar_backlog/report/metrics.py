"""The numbers of an audit in the text format of Prometheus; names and labels: docs/monitoring.md.

Series are bounded: topics and subscriptions beyond `BOUND` are summed under the label `(others)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from pulsar_backlog.report.since import WORDS

BOUND = 200
"""Topics, and subscriptions, that have series of their own."""
OTHERS = "(others)"
"""Label of those after them, summed."""
NO_TOPIC = "(unknown)"
"""Label of what nothing names the topic of."""
_PREFIX = "pulsar_backlog_"


@dataclass(frozen=True)
class Numbers:
    """What is written.

    Attributes:
        cluster: whose.
        at_ms: when the audit ended.
        seconds: how long it took.
        exit_code: that it asks for.
        read_bytes: bytes that the last scan read from the source.
        entries: entries decoded.
        subscriptions: rows of conf/metrics/subscriptions.sql.
        topics: rows of conf/metrics/topics.sql.
        totals: rows of conf/report/totals.sql.
        changes: rows of conf/report/change_counts.sql.
    """

    cluster: str
    at_ms: int
    seconds: float
    exit_code: int
    read_bytes: int
    entries: int
    subscriptions: Iterable[Mapping[str, Any]]
    topics: Iterable[Mapping[str, Any]]
    totals: Iterable[Mapping[str, Any]]
    changes: Iterable[Mapping[str, Any]]


class Gauges:
    """Gauges of one cluster in a registry of their own."""

    def __init__(self, cluster: str) -> None:
        self.registry = CollectorRegistry()
        self._cluster = cluster
        self._gauges: dict[str, Gauge] = {}

    def put(self, name: str, words: str, value: float | None, **labels: str) -> None:
        """A value; what is not known has none."""
        if value is None:
            return
        if name not in self._gauges:
            self._gauges[name] = Gauge(_PREFIX + name, words, ["cluster", *labels], registry=self.registry)
        self._gauges[name].labels(cluster=self._cluster, **labels).inc(value)


def exposition(numbers: Numbers) -> str:
    """All numbers as text that Prometheus scrapes."""
    gauges = Gauges(numbers.cluster)
    _of_run(gauges, numbers)
    for row in numbers.subscriptions:
        _of_subscription(gauges, row, numbers.at_ms)
    for row in numbers.topics:
        topic = OTHERS if row["is_rest"] else row["topic"] or NO_TOPIC
        gauges.put(
            "topic_broken_messages", "Chunked messages that are not whole and not arriving.", row["broken"], topic=topic
        )
        gauges.put(
            "topic_lost_messages",
            "Chunked messages that cannot be rebuilt from what is stored.",
            row["lost"],
            topic=topic,
        )
        gauges.put(
            "topic_rebuildable_messages",
            "Chunked messages that are not whole in the log but can be rebuilt.",
            row["rebuildable"],
            topic=topic,
        )
    return generate_latest(gauges.registry).decode()


def _of_run(gauges: Gauges, numbers: Numbers) -> None:
    gauges.put("audit_timestamp_seconds", "When the last audit ended, seconds since 1970.", numbers.at_ms / 1000)
    gauges.put("audit_duration_seconds", "How long the last audit took.", numbers.seconds)
    gauges.put("audit_exit_code", "Exit code that the last audit asked for.", numbers.exit_code)
    gauges.put("audit_read_bytes", "Bytes that the last scan read from the source.", numbers.read_bytes)
    gauges.put("audit_entries", "Entries that the tables hold decoded.", numbers.entries)
    for severity in ("error", "warning", "info"):
        of_severity = [row for row in numbers.totals if row["severity"] == severity]
        count = sum(row["findings"] for row in of_severity)
        gauges.put("findings", "Rows of the table findings.", count, severity=severity)
        for change in WORDS:
            of_change = (
                row["problems"]
                for row in numbers.changes
                if (row["change"], row["severity"], row["is_acknowledged"]) == (change, severity, False)
            )
            words = "Problems by what the last comparison said, without those that are acknowledged."
            gauges.put("problems", words, sum(of_change), severity=severity, change=change)
    unread = sum(row["findings"] for row in numbers.totals if row["incomplete"])
    gauges.put("unread_findings", "Findings that say that something could not be read.", unread)


def _of_subscription(gauges: Gauges, row: Mapping[str, Any], at_ms: int) -> None:
    is_rest = row["subscription"] is None
    labels = {
        "topic": OTHERS if is_rest else row["topic"],
        "subscription": OTHERS if is_rest else row["subscription"],
    }
    age, broker_age = (
        None if oldest_ms is None else max(0, at_ms - oldest_ms) / 1000
        for oldest_ms in (row["oldest_ms"], row["oldest_broker_ms"])
    )
    put = gauges.put
    put(
        "subscription_stalled",
        "Whether the subscription is stalled; of the others, how many are.",
        row["stalled"],
        **labels,
    )
    put("subscription_backlog_entries", "Stored entries that are not acknowledged.", row["backlog_entries"], **labels)
    put("subscription_backlog_bytes", "Bytes of those entries.", row["backlog_bytes"], **labels)
    put(
        "subscription_oldest_unacknowledged_age_seconds",
        "Age of the oldest stored entry that is not acknowledged, by its publish time.",
        age,
        **labels,
    )
    put(
        "subscription_oldest_unacknowledged_broker_age_seconds",
        "Its age by the time when the broker added it.",
        broker_age,
        **labels,
    )
