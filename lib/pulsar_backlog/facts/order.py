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

from pulsar_backlog.facts import entry_numbers as of
from pulsar_backlog.facts import stretch_fold as fold
from pulsar_backlog.facts.steps import STEPS, PublishTimes, Step, add_steps, clamped, late_entries, steps_of
from pulsar_backlog.facts.stretch import Stretch
from pulsar_backlog.facts.stretch_fold import FARTHEST, PUBLISH_TOLERANCE_MS

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
    folded, broker_ms = stretch.folded, stretch.numbers[of.BROKER_MS]
    first_indexed, last_indexed, first_timed, last_timed = folded.places.tolist()
    return Order(
        first=_edge(stretch, 0),
        last=_edge(stretch, len(stretch) - 1),
        first_indexed=None if first_indexed < 0 else _edge(stretch, first_indexed),
        last_index=None if last_indexed < 0 else int(stretch.numbers[of.INDEX_NUMBER][last_indexed]),
        first_timed=None if first_timed < 0 else (int(broker_ms[first_timed]), int(stretch.entry_ids[first_timed])),
        last_broker_ms=None if last_timed < 0 else int(broker_ms[last_timed]),
        newest_publish_ms=folded.extreme(fold.NEWEST_TOLD, fold.TOLD_TIMES),
        oldest_publish=_timed(stretch, fold.OLDEST_TOLD, fold.TOLD_TIMES),
        earliest=_timed(stretch, fold.EARLIEST, fold.SEEK_TIMES),
        latest=_timed(stretch, fold.LATEST, fold.SEEK_TIMES),
        not_ascending=int(folded.sums[fold.NOT_ASCENDING]),
        index_backwards=int(folded.sums[fold.INDEX_BACKWARDS]),
        broker_backwards=int(folded.sums[fold.BROKER_BACKWARDS]),
        publish_backwards=int(folded.sums[fold.PUBLISH_BACKWARDS]),
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
    flag, numbers = int(stretch.flags[place]), [int(of_all[place]) for of_all in stretch.numbers]
    is_batch = flag & (of.BATCH | of.TRANSACTION) == of.BATCH
    return Edge(
        entry_id=numbers[of.ENTRY_ID],
        index=numbers[of.INDEX_NUMBER] if flag & of.INDEX else None,
        messages=None if flag & of.DAMAGED else max(numbers[of.BATCH_SIZE], 1) if is_batch else 1,
        first_message_index=stretch.first_message_index(np.array([place])).at(0),
        has_metadata=bool(flag & of.METADATA),
        broker_ms=numbers[of.BROKER_MS] if flag & of.BROKER else None,
        publish_time_ms=numbers[of.WIRE_MS],
    )


def _timed(stretch: Stretch, place: int, count: int) -> Timed | None:
    """An extreme with the entry that has it, whose id is the next one."""
    time_ms = stretch.folded.extreme(place, count)
    return None if time_ms is None else (time_ms, int(stretch.folded.extremes[place + 1]))


Value = TypeVar("Value", int, Timed)


def _choose_present(choose: Callable[..., Value], *values: Value | None) -> Value | None:
    """The least or the greatest of what is known."""
    present = [value for value in values if value is not None]
    return choose(present) if present else None
