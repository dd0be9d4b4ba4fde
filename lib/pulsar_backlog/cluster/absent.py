"""Ledgers that the broker knows and the source does not hold: what the audit cannot see."""

from __future__ import annotations

from collections.abc import Container, Iterator

from pulsar_backlog.cluster.values import ClusterState, LedgerRecord, TopicState
from pulsar_backlog.counting import counted
from pulsar_backlog.findings import MAX_EVIDENCE, Finding

_SAVED = "read from the saved admin JSON"


def absent_ledgers(topic: TopicState, stored: Container[int]) -> list[LedgerRecord]:
    """Ledgers of the topic that hold entries, as far as the broker says, and are not stored.

    The open last ledger is among them unless the broker's last confirmed entry shows that it is empty.
    """
    return [ledger for ledger in topic.ledgers if ledger.ledger_id not in stored and may_hold_entries(topic, ledger)]


def findings_of_absent(state: ClusterState, stored: Container[int]) -> Iterator[Finding]:
    """A finding per topic that is stored in part; topics of which nothing is stored are counted in one."""
    elsewhere = []
    for topic in state.topics.values():
        absent = [ledger for ledger in absent_ledgers(topic, stored) if ledger.ledger_id not in state.disputed]
        if not absent:
            continue
        if not any(ledger.ledger_id in stored for ledger in topic.ledgers):
            elsewhere.append(topic.topic)
            continue
        yield from _of_topic(topic, absent)
    if elsewhere:
        message = f"Topics in the saved admin JSON without a ledger in the source: {_named(len(elsewhere))}."
        yield Finding(
            "S16", "topics elsewhere", message, count=len(elsewhere), reason=_SAVED, evidence=tuple(sorted(elsewhere))
        )
    if elsewhere and not any(one.ledger_id in stored for topic in state.topics.values() for one in topic.ledgers):
        yield Finding(
            "S42",
            "admin JSON",
            f"The saved admin JSON lists ledgers of {counted(len(state.topics), 'topic')}, and none of them is in the "
            "source.",
            count=len(elsewhere),
            reason=_SAVED,
            evidence=tuple(sorted(elsewhere)),
        )


def _of_topic(topic: TopicState, absent: list[LedgerRecord]) -> Iterator[Finding]:
    offloaded = [ledger.ledger_id for ledger in absent if ledger.complete]
    others = [ledger.ledger_id for ledger in absent if not ledger.complete]
    for code, ids, what in (("S15", offloaded, "offloaded"), ("S16", others, "not offloaded")):
        if ids:
            yield Finding(
                code,
                topic.topic,
                f"Ledgers of this topic that the broker calls {what} and that are not in the source: "
                f"{_named(len(ids))}.",
                topic=topic.topic,
                count=len(ids),
                reason=_SAVED,
                evidence=tuple(f"ledger {ledger_id}" for ledger_id in ids),
            )


def _named(count: int) -> str:
    """A number of things, and how many of them the evidence names where these are not all."""
    return f"{count:,}" if count <= MAX_EVIDENCE else f"{count:,}, of which the evidence names the first {MAX_EVIDENCE}"


def may_hold_entries(topic: TopicState, ledger: LedgerRecord) -> bool:
    """Whether a ledger of a topic may hold entries, as far as the broker says."""
    if ledger.entries is not None:
        return ledger.entries > 0
    return topic.last_confirmed is None or topic.last_confirmed >= (ledger.ledger_id, 0)
