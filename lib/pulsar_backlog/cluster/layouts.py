"""Layouts of scalable topics (5.0): which segments a topic has had, by range of key hashes.

```
/topics/<tenant>/<namespace>/<encoded local>                   {"epoch", "nextSegmentId", "segments": {"<id>": {...}}}
/topics/<tenant>/<namespace>/<encoded local>/subscriptions/<s> registered subscriptions: stream and checkpoint consumers
```
`GET /admin/v2/scalable/<tenant>/<namespace>/<local>` answers the first. A range is inclusive; -1 is "not set". A
segment of a topic that was migrated is the old topic, or a partition of it (`legacyTopicName`). Segments that were
pruned are gone from the layout; that ids below `nextSegmentId` are missing is their only sign.

Source: the JSON of a broker 5.0.0-M1 (revision 8dae0236), ScalableTopicResources.java and SegmentInfo.java.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote_plus

from pulsar_backlog.cluster.fields import Fields, storable
from pulsar_backlog.wire.names import segment_of_scalable_topic

ROOT = "/topics/"
MAX_HASH = 65535


@dataclass(frozen=True)
class Segment:
    """One segment of a layout.

    Attributes:
        segment_id: its number in the topic.
        name: of the topic that holds its entries: `segment://...`, or the old topic of a migrated one.
        first_hash: first key hash of its range.
        last_hash: last key hash of its range, inclusive.
        state: `ACTIVE` or `SEALED`; None where the layout says neither.
        parents: ids of the segments that it was made of.
        children: ids of the segments that were made of it.
        created_epoch: epoch of the layout that made it; None when not set.
        sealed_epoch: epoch of the layout that sealed it; None when not set.
        created_ms: when it was made; None when not set.
        sealed_ms: when it was sealed; None when not set.
        is_legacy: whether it is a topic that was migrated.
    """

    segment_id: int
    name: str
    first_hash: int
    last_hash: int
    state: str | None
    parents: tuple[int, ...]
    children: tuple[int, ...]
    created_epoch: int | None
    sealed_epoch: int | None
    created_ms: int | None
    sealed_ms: int | None
    is_legacy: bool


@dataclass(frozen=True)
class Layout:
    """The layout of one scalable topic.

    Attributes:
        topic: `topic://tenant/namespace/local`.
        epoch: how often it changed.
        next_segment_id: the id that the next segment gets; ids below it were given out.
        segments: by id.
        file: where it was read from.
    """

    topic: str
    epoch: int
    next_segment_id: int
    segments: tuple[Segment, ...]
    file: str


def is_layout(body: Mapping[str, object]) -> bool:
    """Whether a JSON object is a layout."""
    return isinstance(body.get("segments"), dict) and "epoch" in body and "nextSegmentId" in body


def is_scalable_stats(body: Mapping[str, object]) -> bool:
    """Whether a JSON object is what `GET /scalable/.../stats` answers: counts, and no backlog."""
    return isinstance(body.get("segments"), dict) and "epoch" in body and "totalSegments" in body


def layout_of(body: Fields, topic: str, file: str) -> Layout | None:
    """The layout in a JSON object; a segment that makes no sense is left out and noted, None where the whole is."""
    epoch, following = body.integer("epoch"), body.integer("nextSegmentId")
    if epoch is None or following is None:
        return None
    segments = []
    for number, one in body.members("segments"):
        segment = _segment(one, topic)
        if segment is None:
            body.fault(f"segments.{number}")
        else:
            segments.append(segment)
    return Layout(topic, epoch, following, tuple(sorted(segments, key=lambda one: one.segment_id)), file)


def _segment(body: Fields, topic: str) -> Segment | None:
    span = body.child("hashRange")
    segment_id = body.integer("segmentId")
    first, last = (span.integer("start"), span.integer("end")) if span else (None, None)
    if segment_id is None or first is None or last is None or not first <= last <= MAX_HASH:
        return None
    legacy = body.text("legacyTopicName")
    state = body.text("state")
    return Segment(
        segment_id=segment_id,
        name=legacy or segment_of_scalable_topic(topic, first, last, segment_id),
        first_hash=first,
        last_hash=last,
        state=state if state in ("ACTIVE", "SEALED") else None,
        parents=tuple(body.integers("parentIds")),
        children=tuple(body.integers("childIds")),
        created_epoch=_set(body.signed("createdAtEpoch")),
        sealed_epoch=_set(body.signed("sealedAtEpoch")),
        created_ms=_set(body.signed("createdAtMs")),
        sealed_ms=_set(body.signed("sealedAtMs")),
        is_legacy=legacy is not None,
    )


def _set(value: int | None) -> int | None:
    return None if value is None or value < 0 else value


def registered_subscription(path: str) -> tuple[str, str] | None:
    """Scalable topic and subscription of a node that registers one; None of any other node."""
    parts = path.removeprefix(ROOT).split("/")
    if len(parts) != 5 or parts[3] != "subscriptions" or not all(parts):
        return None
    return _topic(parts), storable(unquote_plus(parts[4]))


def migrated_topics(layouts: Iterable[Layout]) -> dict[str, str]:
    """Scalable topics by the topics, or partitions, that were migrated to them."""
    return {one.name: layout.topic for layout in layouts for one in layout.segments if one.is_legacy}


def _topic(parts: list[str]) -> str:
    return storable(f"topic://{parts[0]}/{parts[1]}/{unquote_plus(parts[2])}")


def topic_of_file(name: str) -> str | None:
    """Scalable topic that the name of a saved answer tells, `tenant__namespace__local...json`; None of another."""
    parts = name.removesuffix(".json").removesuffix(".scalable").split("__", 2)
    if len(parts) != 3 or not all(parts):
        return None
    return storable(f"topic://{'/'.join(unquote_plus(part.replace('+', '%2B')) for part in parts)}")


def layouts_of_dump(nodes: Iterable[tuple[str, bytes]], faults: list[str], file: str) -> Iterator[Layout]:
    """Layouts among nodes below `/topics/` and their values; what is not one is noted."""
    for path, value in nodes:
        parts = path.removeprefix(ROOT).split("/")
        if len(parts) != 3 or not value:
            continue
        try:
            body = json.loads(value)
        except (ValueError, RecursionError):
            body = None
        layout = layout_of(Fields(body, faults, path), _topic(parts), file) if isinstance(body, dict) else None
        if layout is None:
            faults.append(path)
        else:
            yield layout


def newest_layouts(layouts: Iterable[Layout]) -> dict[str, Layout]:
    """The newest layout of each topic, by name; of equal ones the last that was read."""
    newest: dict[str, Layout] = {}
    for layout in layouts:
        if layout.topic not in newest or newest[layout.topic].epoch <= layout.epoch:
            newest[layout.topic] = layout
    return dict(sorted(newest.items()))
