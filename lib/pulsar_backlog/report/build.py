"""From small rows, as the jobs collect them, to the report's model. Rows are plain dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pulsar_backlog.report.acks import NO_ACKS
from pulsar_backlog.report.acks_build import ConsumerRows, acks_by_topic, clients_by_topic
from pulsar_backlog.report.clients import NO_CLIENTS
from pulsar_backlog.report.model import (
    Bucket,
    Counts,
    FindingRow,
    FindingTotal,
    LedgerFacts,
    PublicationGroup,
    PublicationRow,
    SettingRow,
    TopicSection,
)

Row = dict[str, Any]
Topic = str | None


@dataclass(frozen=True)
class TopicRows:
    """Rows that belong to topics, each with a `topic`; see the queries in conf/report."""

    ledgers: Sequence[Row]
    buckets: Sequence[Row]
    groups: Sequence[Row]
    broken: Sequence[Row]
    findings: Sequence[Row]
    totals: Sequence[Row]
    stats: Sequence[Row]


def sections(topics: Iterable[Row], rows: TopicRows, consumers: ConsumerRows) -> tuple[TopicSection, ...]:
    """A section per topic, in the order of `topics`."""
    acks, clients = acks_by_topic(consumers), clients_by_topic(consumers)
    ledgers, buckets, groups = _by_topic(rows.ledgers), _by_topic(rows.buckets), _by_topic(rows.groups)
    broken, findings, totals = _by_topic(rows.broken), _by_topic(rows.findings), _by_topic(rows.totals)
    stats = _by_topic(rows.stats)
    return tuple(
        TopicSection(
            topic=topic["topic"],
            ledgers=tuple(_ledger(row) for row in ledgers.get(topic["topic"], ())),
            ledger_total=next((row["total"] for row in ledgers.get(topic["topic"], ())), 0),
            entries=topic["entries"] or 0,
            rejected=topic["rejected"] or 0,
            messages=messages(topic),
            bytes=topic["bytes"] or 0,
            first_ms=topic["first_ms"],
            last_ms=topic["last_ms"],
            time_basis="broker" if topic["by_broker"] else "producer",
            bucket_ms=next((row["bucket_ms"] for row in buckets.get(topic["topic"], ())), 1),
            buckets=tuple(_bucket(row) for row in buckets.get(topic["topic"], ())),
            groups=tuple(group(row) for row in groups.get(topic["topic"], ())),
            broken=tuple(_publication(row) for row in broken.get(topic["topic"], ())),
            findings=tuple(finding(row) for row in findings.get(topic["topic"], ())),
            finding_totals=tuple(total(row) for row in totals.get(topic["topic"], ())),
            settings=tuple(SettingRow(**one) for row in stats.get(topic["topic"], ()) for one in row["recommended"]),
            acks=acks.get(topic["topic"], NO_ACKS),
            clients=clients.get(topic["topic"], NO_CLIENTS),
        )
        for topic in topics
    )


def messages(topic: Mapping[str, Any]) -> int | None:
    """Messages of a topic, batches unfolded and each chunked message once; None when nothing was decoded."""
    if topic["entries"] is None:
        return None
    return int(topic["single_messages"] or 0) + int(topic["chunked"] or 0)


def counts(topics: Sequence[Row], ledgers: Mapping[str, Any]) -> Counts:
    """Totals over all topics."""
    counts_of_topics = [messages(topic) for topic in topics]
    return Counts(
        topics=ledgers["topics"],
        ledgers=ledgers["ledgers"],
        ledgers_not_ok=ledgers["not_ok"],
        entries=_sum(topics, "entries"),
        rejected=_sum(topics, "rejected"),
        bytes=_sum(topics, "bytes"),
        messages=sum(count for count in counts_of_topics if count is not None),
        chunk_entries=_sum(topics, "chunk_entries"),
    )


def group(row: Mapping[str, Any]) -> PublicationGroup:
    """Publications that share a verdict."""
    return PublicationGroup(row["state"], tuple(row["flags"]), row["rebuildable"], row["sureness"], row["publications"])


def total(row: Mapping[str, Any]) -> FindingTotal:
    """Findings of one code, severity and completeness."""
    return FindingTotal(row["code"], row["severity"], row["incomplete"], row["findings"], row["count"])


def finding(row: Mapping[str, Any]) -> FindingRow:
    """A finding as the report shows it."""
    return cast(FindingRow, {name: row[name] for name in FindingRow.__annotations__})


def _publication(row: Mapping[str, Any]) -> PublicationRow:
    return cast(PublicationRow, {name: row[name] for name in PublicationRow.__annotations__})


def _ledger(row: Mapping[str, Any]) -> LedgerFacts:
    return LedgerFacts(
        row["ledger_id"], row["entries"], row["bytes"], row["status"], row["created_ms"], row["closed_ms"]
    )


def _bucket(row: Mapping[str, Any]) -> Bucket:
    return Bucket(row["start_ms"], row["entries"], row["bytes"], row["chunk_entries"])


def _by_topic(rows: Iterable[Row]) -> dict[Topic, list[Row]]:
    groups: dict[Topic, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["topic"], []).append(row)
    return groups


def _sum(rows: Iterable[Row], name: str) -> int:
    return sum(row[name] or 0 for row in rows)
