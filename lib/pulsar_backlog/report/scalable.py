"""What a report knows of scalable topics (Pulsar 5): bounded rows with the true totals, and the verdict on each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from pulsar_backlog.counting import counted

if TYPE_CHECKING:
    from pulsar_backlog.report.model import FindingRow, FindingTotal
    from pulsar_backlog.report.verdict import Grade

MAX_SCALABLE = 100
"""Scalable topics that have a section, the worst first; `Scalable.total` counts them all."""

MAX_SEGMENTS = 120
"""Segments listed and drawn per topic, the newest; `ScalableTopic.segments` counts them all."""

MAX_SCALABLE_SUBSCRIPTIONS = 50
"""Subscriptions listed per topic, those with most to tell first; `ScalableTopic.subscription_total` counts them all."""


@dataclass(frozen=True)
class SegmentFacts:
    """A row of `segments`; attributes as its columns, times in milliseconds.

    Attributes:
        cursors: subscriptions that have a cursor on it, as far as saved state says.
    """

    segment: str
    segment_id: int
    first_hash: int
    last_hash: int
    status: str
    parents: tuple[int, ...] | None
    children: tuple[int, ...] | None
    kin_sureness: str | None
    created_epoch: int | None
    sealed_epoch: int | None
    created_ms: int | None
    sealed_ms: int | None
    is_legacy: bool
    ledgers: int
    entries: int
    bytes: int
    cursors: int


@dataclass(frozen=True)
class ScalableSubscription:
    """A row of the view `scalable_subscriptions`; attributes as its columns."""

    subscription: str
    registered: bool
    cursors: int
    backlog_entries: int | None
    backlog_messages: int | None
    backlog_bytes: int | None
    unstored_entries: int
    stalls: int
    segments_without_cursor: int
    entries_without_cursor: int
    bytes_without_cursor: int


@dataclass(frozen=True)
class ScalableTopic:
    """A row of the view `scalable_topics`, with its newest segments, its subscriptions and the findings about itself.

    Attributes:
        listed: some of its segments, by number; `segments` counts them all.
        findings: those whose topic it is, and not one of its segments; `finding_totals` counts them all.
    """

    topic: str
    segments: int
    active: int
    sealed: int
    pruned: int
    unknown: int
    migrated: int
    ledgers: int
    entries: int
    bytes: int
    chunked_messages: int
    not_whole: int
    stalls: int
    errors: int
    warnings: int
    incomplete: bool
    subscription_total: int = 0
    listed: tuple[SegmentFacts, ...] = ()
    subscriptions: tuple[ScalableSubscription, ...] = ()
    findings: tuple[FindingRow, ...] = ()
    finding_totals: tuple[FindingTotal, ...] = ()


@dataclass(frozen=True)
class Scalable:
    """The scalable topics of a report: the worst `MAX_SCALABLE`, and how many there are."""

    total: int = 0
    topics: tuple[ScalableTopic, ...] = ()


NO_SCALABLE = Scalable()


@dataclass(frozen=True)
class ScalableRows:
    """Rows of the queries `scalable*` of conf/report, each with a `topic`."""

    topics: Sequence[Mapping[str, Any]]
    segments: Sequence[Mapping[str, Any]]
    subscriptions: Sequence[Mapping[str, Any]]
    findings: Sequence[FindingRow]
    totals: Sequence[tuple[str | None, FindingTotal]]


def scalable(rows: ScalableRows) -> Scalable:
    """The scalable topics, in the order of their rows."""
    segments, subscriptions = _by_topic(rows.segments), _by_topic(rows.subscriptions)
    findings, totals = defaultdict(list), defaultdict(list)
    for row in rows.findings:
        findings[row["topic"]].append(row)
    for topic, total in rows.totals:
        totals[topic].append(total)
    return Scalable(
        total=next((row["topic_total"] for row in rows.topics), 0),
        topics=tuple(
            ScalableTopic(
                **_columns(ScalableTopic, row),
                listed=tuple(_segment(one) for one in segments[row["topic"]]),
                subscriptions=tuple(
                    ScalableSubscription(**_columns(ScalableSubscription, one)) for one in subscriptions[row["topic"]]
                ),
                findings=tuple(findings[row["topic"]]),
                finding_totals=tuple(totals[row["topic"]]),
            )
            for row in rows.topics
        ),
    )


def _segment(row: Mapping[str, Any]) -> SegmentFacts:
    of = _columns(SegmentFacts, row)
    kin = {name: None if of[name] is None else tuple(of[name]) for name in ("parents", "children")}
    return SegmentFacts(**of | kin)


def _columns(kind: type[Any], row: Mapping[str, Any]) -> dict[str, Any]:
    return {one.name: row[one.name] for one in fields(kind) if one.name in row}


def _by_topic(rows: Iterable[Mapping[str, Any]]) -> defaultdict[str, list[Mapping[str, Any]]]:
    by_topic: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by_topic[row["topic"]].append(row)
    return by_topic


def scalable_grade(topic: ScalableTopic) -> Grade:
    """The verdict on a scalable topic: the worst that was found of it and of its segments."""
    if topic.errors:
        return "broken"
    if topic.incomplete:
        return "incomplete"
    if topic.warnings:
        return "odd"
    return "clean" if topic.ledgers else "nothing"


def scalable_line(topic: ScalableTopic) -> str:
    """The verdict in a few words: `3 segments (2 active, 1 sealed), 2 warnings`."""
    states = ", ".join(_states(topic))
    words = [f"{counted(topic.segments, 'segment')}{f' ({states})' if states else ''}", *_faults(topic)]
    if not topic.ledgers:
        words.append("no ledger of it is in the source")
    return ", ".join(words)


def _states(topic: ScalableTopic) -> Iterator[str]:
    for number, word in (
        (topic.active, "active"), (topic.sealed, "sealed"), (topic.pruned, "pruned"),
        (topic.unknown, "of unknown state"), (topic.migrated, "migrated"),
    ):  # fmt: skip
        if number:
            yield f"{number:,} {word}"


def _faults(topic: ScalableTopic) -> Iterator[str]:
    if topic.not_whole:
        yield f"{topic.not_whole:,} of {counted(topic.chunked_messages, 'chunked message')} not whole"
    for number, noun in ((topic.stalls, "stalled chunk set"), (topic.errors, "error"), (topic.warnings, "warning")):
        if number:
            yield counted(number, noun)
    if topic.incomplete:
        yield "not everything was read"
