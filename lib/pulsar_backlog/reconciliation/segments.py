"""Segments of scalable topics: what the layout says of them, against stored ledgers and saved cursors.

| segment | in the layout | its number | status |
|---|---|---|---|
| named | yes | | `active`, `sealed` |
| stored or listed | no | was given out before | `pruned` |
| stored or listed | no | was never given out | `unlisted`: a split that was cut off, or a layout that is older |
| stored or listed | no layout | | `unknown` |
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pulsar_backlog.cluster.layout_faults import faults_of_layout
from pulsar_backlog.cluster.layout_guess import GuessedKin, guessed_kin
from pulsar_backlog.cluster.layouts import Layout, Segment
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.counting import counted
from pulsar_backlog.findings import Finding
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.names import SegmentParts, is_segment, scalable_topic_of, segment_parts

_LAYOUT = "read from the saved layout"


@dataclass(frozen=True)
class Stored:
    """What is stored of a topic or segment: ledgers, and entries of those that were scanned, with their bytes."""

    ledgers: int
    entries: int
    size_bytes: int


NOTHING = Stored(0, 0, 0)


@dataclass(frozen=True)
class SegmentState:
    """One segment, as a row of `segments`; attributes as its columns.

    Attributes:
        layout: what the layout says of it; None where there is none, or that does not name it.
        kin: what the names of the topic's segments tell, where no layout was saved.
        registered: those of `subscriptions` that the topic registers.
    """

    topic: str
    segment: str
    parts: SegmentParts
    status: str
    layout: Segment | None
    is_terminated: bool | None
    stored: Stored
    subscriptions: tuple[str, ...]
    first_ledger_id: int | None = None
    watermark: Position | None = None
    kin: GuessedKin | None = None
    registered: tuple[str, ...] = ()

    def row(self, cluster: str) -> dict[str, object]:
        """As a row of `segments`."""
        layout = self.layout
        return {
            "cluster": cluster,
            "topic": self.topic,
            "segment": self.segment,
            "segment_id": self.parts.segment_id,
            "first_hash": self.parts.first_hash,
            "last_hash": self.parts.last_hash,
            "status": self.status,
            "parents": list(of.parents) if (of := layout or self.kin) else None,
            "children": list(of.children) if of else None,
            "kin_sureness": "certain" if layout else self.kin.sureness if self.kin else None,
            "created_epoch": layout.created_epoch if layout else None,
            "sealed_epoch": layout.sealed_epoch if layout else None,
            "created_time": _time(layout.created_ms) if layout else None,
            "sealed_time": _time(layout.sealed_ms) if layout else None,
            "is_legacy": bool(layout and layout.is_legacy),
            "is_terminated": self.is_terminated,
            "first_ledger_id": self.first_ledger_id,
            "watermark_ledger_id": self.watermark[0] if self.watermark else None,
            "watermark_entry_id": self.watermark[1] if self.watermark else None,
            "ledgers": self.stored.ledgers,
            "entries": self.stored.entries,
            "bytes": self.stored.size_bytes,
            "subscriptions": list(self.subscriptions),
            "registered": list(self.registered),
        }


def segment_states(state: ClusterState | None, stored: Mapping[str, Stored]) -> list[SegmentState]:
    """Every segment that is stored, listed or laid out, by topic and number.

    Args:
        state: what saved state says; None where none is given.
        stored: what is stored, by name of the topic or segment.
    """
    layouts = state.layouts if state else {}
    topics = state.topics if state else {}
    cursors = _cursors(state) if state else {}
    named = {one.name: (layout, one) for layout in layouts.values() for one in layout.segments}
    listed = {name for name in (*stored, *topics) if segment_parts(name)} - named.keys()
    states = [_laid_out(layout, one, stored, cursors, state) for layout, one in named.values()]
    for name in listed:
        topic, parts = scalable_topic_of(name) or "", segment_parts(name)
        if parts is not None:
            status = _status_of_unnamed(layouts.get(topic), parts)
            terminated = topics[name].terminated if name in topics else None
            of_name = stored.get(name, NOTHING), cursors.get(name, ())
            states.append(SegmentState(topic, name, parts, status, None, terminated, *of_name))
    watermarks = state.transactions.watermarks if state else {}
    firsts = {name: min((one.ledger_id for one in of.ledgers), default=None) for name, of in topics.items()}
    kin = _guessed(states)
    registered = state.registered if state else frozenset()
    states = [
        replace(
            one,
            first_ledger_id=firsts.get(one.segment),
            watermark=watermarks.get(one.segment),
            kin=kin.get((one.topic, one.parts.segment_id)) if one.status == "unknown" else None,
            registered=tuple(name for name in one.subscriptions if (one.topic, name) in registered),
        )
        for one in states
    ]
    return sorted(states, key=lambda one: (one.topic, one.parts.segment_id, one.segment))


def _guessed(states: Iterable[SegmentState]) -> dict[tuple[str, int], GuessedKin]:
    """What names tell of the segments of topics without a layout, by topic and number."""
    by_topic: dict[str, list[SegmentParts]] = defaultdict(list)
    for one in states:
        if one.status == "unknown" and one.layout is None:
            by_topic[one.topic].append(one.parts)
    return {(topic, id_): kin for topic, of in by_topic.items() for id_, kin in guessed_kin(of).items()}


def _laid_out(
    layout: Layout, one: Segment, stored: Mapping[str, Stored], cursors: Mapping[str, tuple[str, ...]],
    state: ClusterState | None,
) -> SegmentState:  # fmt: skip
    saved = state.topics.get(one.name) if state else None
    parts = SegmentParts(one.first_hash, one.last_hash, one.segment_id)
    status = (one.state or "unknown").lower()
    of_name = stored.get(one.name, NOTHING), cursors.get(one.name, ())
    return SegmentState(layout.topic, one.name, parts, status, one, saved.terminated if saved else None, *of_name)


def _status_of_unnamed(layout: Layout | None, parts: SegmentParts) -> str:
    if layout is None:
        return "unknown"
    return "pruned" if parts.segment_id < layout.next_segment_id else "unlisted"


def _cursors(state: ClusterState) -> dict[str, tuple[str, ...]]:
    """Subscriptions that have a cursor on each topic; cursors of the broker's own left out."""
    names: dict[str, set[str]] = defaultdict(set)
    for topic in state.topics.values():
        names[topic.topic] |= {one.name for one in topic.cursors}
    for value in state.stored_values:
        if value.cursor is not None:
            names[value.topic].add(value.cursor)
    return {topic: tuple(sorted(one for one in of if not one.startswith("__"))) for topic, of in names.items()}


def findings_of_segments(states: Iterable[SegmentState], state: ClusterState | None) -> Iterator[Finding]:
    """What is wrong with layouts, and what reading without one leaves open: S50 to S54, S57."""
    by_topic: dict[str, list[SegmentState]] = defaultdict(list)
    for one in states:
        by_topic[one.topic].append(one)
    for topic, segments in by_topic.items():
        layout = state.layouts.get(topic) if state else None
        if layout is None:
            yield _without_layout(topic, segments)
            continue
        yield from _unread(topic, segments, state)
        yield from _read_live(topic, segments, state)
        yield from _contradictions(layout, segments)
        yield from _pruned(topic, segments)
        registered = state.registered if state else frozenset()
        with_cursors = [one for one in segments if _has_saved_cursors(one, state)]
        yield from _without_cursor(topic, with_cursors, {name for of, name in registered if of == topic})


def _without_layout(topic: str, segments: list[SegmentState]) -> Finding:
    names = tuple(one.segment for one in segments)
    words = (
        f"{topic} is a scalable topic: its {counted(len(segments), 'segment')} were each read as a topic of their own. "
        "No layout was saved, so it is not known whether these are all of them, nor their order."
    )
    return Finding("S50", topic, words, topic=topic, count=len(segments), evidence=names, incomplete=True)


def _unread(topic: str, segments: list[SegmentState], state: ClusterState | None) -> Iterator[Finding]:
    """Segments that the layout names, of which nothing is stored, and of whose ledgers nothing was saved."""
    topics = state.topics if state else {}
    unread = [one for one in segments if not one.stored.ledgers and one.segment not in topics]
    if unread:
        words = (
            f"{counted(len(unread), 'segment')} of {topic} have no ledger in the source, and no list of their ledgers "
            "was saved: what they hold is not in this audit."
        )
        names = tuple(one.segment for one in unread)
        yield Finding("S54", topic, words, topic=topic, count=len(unread), evidence=names, incomplete=True)


def _has_saved_cursors(one: SegmentState, state: ClusterState | None) -> bool:
    """Whether saved state says which subscriptions have a cursor on it: only the metadata store does of `segment://`."""
    if not is_segment(one.segment):
        return True
    return state is not None and any(value.topic == one.segment for value in state.stored_values)


def _read_live(topic: str, segments: list[SegmentState], state: ClusterState | None) -> Iterator[Finding]:
    """Segments whose ledgers were found by readers."""
    topics = state.topics if state else {}
    by_readers = [one for one in segments if one.segment in topics and not _has_saved_cursors(one, state)]
    if by_readers:
        words = (
            f"The ledgers of {counted(len(by_readers), 'segment')} of {topic} were found by readers. What a reader is "
            "not sent is not in this audit: what stands behind an open transaction, and entries of aborted ones at the "
            "end of a ledger. Nor are the subscriptions of these segments."
        )
        names = tuple(one.segment for one in by_readers)
        yield Finding("S57", topic, words, topic=topic, count=len(by_readers), evidence=names, incomplete=True)


def _contradictions(layout: Layout, segments: list[SegmentState]) -> Iterator[Finding]:
    faults = [
        *(f"segment {one.parts.segment_id} is called active, but it is terminated" for one in segments
          if one.status == "active" and one.is_terminated),
        *(f"segment {one.parts.segment_id} is called sealed, but it is not terminated" for one in segments
          if one.status == "sealed" and one.is_terminated is False),
        *(f"segment {one.parts.segment_id} exists, but the layout never gave its number out" for one in segments
          if one.status == "unlisted"),
        *faults_of_layout(layout),
    ]  # fmt: skip
    if faults:
        words = f"The layout of {layout.topic} contradicts itself or its segments: {faults[0]}."
        more = tuple(faults)
        yield Finding("S51", layout.topic, words, topic=layout.topic, count=len(faults), evidence=more, reason=_LAYOUT)


def _pruned(topic: str, segments: list[SegmentState]) -> Iterator[Finding]:
    pruned = [one for one in segments if one.status == "pruned" and one.stored.ledgers]
    if pruned:
        ledgers = sum(one.stored.ledgers for one in pruned)
        words = (
            f"{topic} pruned {counted(len(pruned), 'segment')}, of which {counted(ledgers, 'ledger')} with "
            f"{counted(sum(one.stored.entries for one in pruned), 'entry')} are still stored: no client reads them."
        )
        evidence = tuple(one.segment for one in pruned)
        yield Finding("S52", topic, words, topic=topic, count=ledgers, evidence=evidence, reason=_LAYOUT)


def _without_cursor(topic: str, segments: list[SegmentState], registered: set[str]) -> Iterator[Finding]:
    """Queue subscriptions: the broker gives their cursor to a new segment only when a consumer connects."""
    names = {name for one in segments for name in one.subscriptions} - registered
    for name in sorted(names):
        first = min(one.parts.segment_id for one in segments if name in one.subscriptions)
        lacking = [
            one for one in segments
            if name not in one.subscriptions and one.status in ("active", "sealed") and one.parts.segment_id > first
        ]  # fmt: skip
        if not lacking:
            continue
        entries, size = (sum(getattr(one.stored, of) for one in lacking) for of in ("entries", "size_bytes"))
        words = (
            f"Subscription {name} has no cursor on {counted(len(lacking), 'segment')} of {topic}, where "
            f"{counted(entries, 'entry')} with {counted(size, 'byte')} are stored: a queue consumer that connects "
            "begins at the latest message there unless it asks for the earliest, and until then nothing keeps them."
        )
        evidence = tuple(one.segment for one in lacking)
        yield Finding("S53", f"{topic} {name}", words, topic=topic, count=entries, evidence=evidence, reason=_LAYOUT)


def _time(ms: int | None) -> datetime | None:
    try:
        return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None
