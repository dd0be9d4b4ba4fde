"""How the entries of a ledger follow each other, in a value that adds up wherever the ledger was cut.

Each stretch keeps its steps and what its edges show. One thing needs more than edges: which entries were published long
before one of the stretch before. Where its newest publish time reaches into a stretch, that one's times are looked at
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from pulsar_backlog.facts.steps import (
    FARTHEST,
    PUBLISH_TOLERANCE_MS,
    STEPS,
    PublishTimes,
    Step,
    add_steps,
    clamped,
    late_entries,
    neighbours,
    steps_of,
)
from pulsar_backlog.facts.stretch import Bools, Nullable, Stretch
from pulsar_backlog.wire.arrays import Int64s

Timed = tuple[int, int]
"""A time in milliseconds, and the entry that has it."""


@dataclass(frozen=True)
class Edge:
    """One entry as its neighbours see it.

    Attributes:
        entry_id: its id.
        index: its index, or None.
        messages: messages it counts for in the index, at least 1; None when it is damaged.
        first_message_index: index of its first message; None when either is not known.
        has_metadata: whether it has broker metadata.
        broker_ms: broker's time, or None.
        publish_time_ms: publish time as on the wire.
    """

    entry_id: int
    index: int | None
    messages: int | None
    first_message_index: int | None
    has_metadata: bool
    broker_ms: int | None
    publish_time_ms: int


@dataclass(frozen=True)
class Order:
    """The order of a stretch.

    Attributes:
        first: its first entry.
        last: its last entry.
        first_indexed: the first entry that has an index.
        last_index: the last index.
        first_timed: the first broker time, with its entry.
        last_broker_ms: the last broker time.
        newest_publish_ms: latest publish time of an undamaged message.
        oldest_publish: the earliest, and the first entry that has it.
        earliest: earliest broker time, else publish time of an undamaged message, and the first entry that has it.
        latest: the latest, and the last entry that has it.
        not_ascending: entries whose id is not above that of the one before.
        index_backwards: entries whose index is not above that of the one before.
        broker_backwards: entries with an earlier broker time than the one before.
        publish_backwards: entries with an earlier publish time, as on the wire, than the one before.
        steps: by code, only those that occur.
    """

    first: Edge
    last: Edge
    first_indexed: Edge | None
    last_index: int | None
    first_timed: Timed | None
    last_broker_ms: int | None
    newest_publish_ms: int | None
    oldest_publish: Timed | None
    earliest: Timed | None
    latest: Timed | None
    not_ascending: int
    index_backwards: int
    broker_backwards: int
    publish_backwards: int
    steps: Mapping[str, Step]


def order_of(stretch: Stretch) -> Order:
    """The order of entries, of which there must be one."""
    index, broker_ms, publish_ms = stretch.index, stretch.broker_ms, stretch.told_publish_ms
    seek_ms = broker_ms.or_else(publish_ms)
    ids, wire_ms = stretch.entry_ids, stretch.wire_publish_ms
    with_index, with_time = index.ends(), broker_ms.ends()
    return Order(
        first=_edge(stretch, 0),
        last=_edge(stretch, len(stretch) - 1),
        first_indexed=_edge(stretch, with_index[0]) if with_index else None,
        last_index=index.at(with_index[1]) if with_index else None,
        first_timed=(int(broker_ms.values[with_time[0]]), int(ids[with_time[0]])) if with_time else None,
        last_broker_ms=broker_ms.at(with_time[1]) if with_time else None,
        newest_publish_ms=publish_ms.most(),
        oldest_publish=_earliest(publish_ms, ids),
        earliest=_earliest(seek_ms, ids),
        latest=_latest(seek_ms, ids),
        not_ascending=_count(ids[1:] <= ids[:-1]),
        index_backwards=_count((index.values[1:] <= index.values[:-1]) & neighbours(index.present)),
        broker_backwards=_count((broker_ms.values[1:] < broker_ms.values[:-1]) & neighbours(broker_ms.present)),
        publish_backwards=_count(wire_ms[1:] < wire_ms[:-1]),
        steps=steps_of(stretch),
    )


def joined(before: Order, after: Order, times_after: Callable[[], Iterable[PublishTimes]]) -> Order:
    """The order of both stretches, `after` behind `before` in one ledger.

    Args:
        before: of the stretch before.
        after: of the stretch after.
        times_after: the publish times of the latter, piece by piece; asked only where they must be looked at again.
    """
    a, b = before.last, after.first
    index_back = a.index is not None and b.index is not None and b.index <= a.index
    broker_back = a.broker_ms is not None and b.broker_ms is not None and b.broker_ms < a.broker_ms
    return Order(
        first=before.first,
        last=after.last,
        first_indexed=before.first_indexed or after.first_indexed,
        last_index=before.last_index if after.last_index is None else after.last_index,
        first_timed=before.first_timed or after.first_timed,
        last_broker_ms=before.last_broker_ms if after.last_broker_ms is None else after.last_broker_ms,
        newest_publish_ms=_choose_present(max, before.newest_publish_ms, after.newest_publish_ms),
        oldest_publish=_choose_present(min, before.oldest_publish, after.oldest_publish),
        earliest=_choose_present(min, before.earliest, after.earliest),
        latest=_choose_present(max, before.latest, after.latest),
        not_ascending=before.not_ascending + after.not_ascending + (b.entry_id <= a.entry_id),
        index_backwards=before.index_backwards + after.index_backwards + index_back,
        broker_backwards=before.broker_backwards + after.broker_backwards + broker_back,
        publish_backwards=before.publish_backwards + after.publish_backwards + (b.publish_time_ms < a.publish_time_ms),
        steps=_joined_steps(before, after, times_after),
    )


def _joined_steps(before: Order, after: Order, times_after: Callable[[], Iterable[PublishTimes]]) -> dict[str, Step]:
    steps = dict(after.steps)
    newest_ms, oldest = before.newest_publish_ms, after.oldest_publish
    if newest_ms is not None and oldest is not None and newest_ms - oldest[0] > PUBLISH_TOLERANCE_MS:
        late = late_entries(newest_ms, times_after())
        steps |= {"B06": late} if late else {}
    at_seam = dict(_steps_at_seam(before, after))
    joined = {
        code: add_steps(code, before.steps.get(code), add_steps(code, at_seam.get(code), steps.get(code)))
        for code in STEPS
    }
    return {code: step for code, step in joined.items() if step is not None}


def _steps_at_seam(before: Order, after: Order) -> Iterable[tuple[str, Step]]:
    a, b, indexed, timed = before.last, after.first, after.first_indexed, after.first_timed
    if b.entry_id == a.entry_id + 1 and a.index is not None and b.index is not None and b.messages is not None:
        skipped = clamped(b.index) - clamped(a.index) - b.messages
        if skipped > 0:
            yield "B01", Step(1, min(skipped, FARTHEST), (b.entry_id,))
    if before.last_index is not None and indexed is not None and indexed.index is not None:
        again = (indexed.messages or 1) - (clamped(indexed.index) - clamped(before.last_index))
        if again > 0:
            yield "B02", Step(1, min(again, FARTHEST), (indexed.entry_id,))
    if a.has_metadata != b.has_metadata:
        yield "B03", Step(1, 0, (b.entry_id,))
    if before.last_broker_ms is not None and timed is not None and before.last_broker_ms > timed[0]:
        yield "B04", Step(1, before.last_broker_ms - timed[0], (timed[1],))


def _edge(stretch: Stretch, place: int) -> Edge:
    count = stretch.counted_batch.at(place)
    damaged = bool(stretch.is_damaged[place])
    return Edge(
        entry_id=int(stretch.entry_ids[place]),
        index=stretch.index.at(place),
        messages=None if damaged else max(1 if count is None else count, 1),
        first_message_index=None if damaged else stretch.first_message_index(np.array([place])).at(0),
        has_metadata=bool(stretch.has_metadata[place]),
        broker_ms=stretch.broker_ms.at(place),
        publish_time_ms=int(stretch.wire_publish_ms[place]),
    )


def _earliest(times: Nullable, entry_ids: Int64s) -> Timed | None:
    earliest = times.least()
    return None if earliest is None else (earliest, int(entry_ids[times.present & (times.values == earliest)].min()))


def _latest(times: Nullable, entry_ids: Int64s) -> Timed | None:
    latest = times.most()
    return None if latest is None else (latest, int(entry_ids[times.present & (times.values == latest)].max()))


def _count(when: Bools) -> int:
    return int(np.count_nonzero(when))


Value = TypeVar("Value", int, Timed)


def _choose_present(choose: Callable[..., Value], *values: Value | None) -> Value | None:
    """The least or the greatest of what is known."""
    present = [value for value in values if value is not None]
    return choose(present) if present else None
