"""Steps out of order in a stretch: of index, broker metadata, broker's clock and publish time.

An entry is compared with its neighbour where it must be (index gaps, presence of metadata), and with all before it in
the ledger where that says more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pulsar_backlog.facts.stretch import Bools, Nullable, Stretch, last_before
from pulsar_backlog.findings import MAX_EVIDENCE
from pulsar_backlog.wire.arrays import Int64s

PUBLISH_TOLERANCE_MS = 1000
"""Steps back of publish times up to here are what several producers on one topic look like."""

FARTHEST = 1 << 61
"""No broker counts so far. Indexes beyond it count as this, so that their differences are numbers too."""

STEPS = ("B01", "B02", "B03", "B04", "B06")
"""Codes of what one entry shows against those before it."""
_ADDED = ("B01", "B02")
"""Of these, how far the steps are in sum; of the others, the farthest one."""
_NEVER = np.iinfo(np.int64).min // 2


@dataclass(frozen=True)
class Step:
    """Steps of one code: how often, how far, and the first entries, `MAX_EVIDENCE` at most."""

    count: int
    extent: int
    entry_ids: tuple[int, ...]


@dataclass(frozen=True)
class PublishTimes:
    """Publish times of a stretch that may be compared."""

    entry_ids: Int64s
    publish_ms: Nullable


def publish_times(stretch: Stretch) -> PublishTimes:
    """The publish times of a stretch that may be compared."""
    return PublishTimes(stretch.entry_ids, stretch.told_publish_ms)


def steps_of(stretch: Stretch) -> dict[str, Step]:
    """Steps within a stretch, by code.

    A damaged entry's own fields say nothing; broker metadata is not covered by the checksum.
    """
    ids, sound = stretch.entry_ids, ~stretch.is_damaged
    index = Nullable(np.clip(stretch.index.values, -FARTHEST, FARTHEST), stretch.index.present)
    messages = np.maximum(stretch.counted_batch.or_one(), 1)
    skipped = -messages
    skipped[1:] += np.diff(index.values)
    adjoins = np.concatenate(([False], (np.diff(ids) == 1) & neighbours(index.present)))
    index_before = last_before(index)
    again = (messages if sound.all() else np.where(sound, messages, 1)) - (index.values - index_before.values)
    metadata = stretch.has_metadata
    broker_before = last_before(stretch.broker_ms)
    back_ms = broker_before.values - stretch.broker_ms.values
    late_ms = _late_ms(stretch.told_publish_ms, None)
    steps = {
        "B01": _step("B01", adjoins & sound & (skipped > 0), skipped, ids),
        "B02": _step("B02", index.present & index_before.present & (again > 0), again, ids),
        "B03": _step("B03", np.concatenate(([False], metadata[1:] != metadata[:-1])), np.zeros_like(ids), ids),
        "B04": _step("B04", stretch.broker_ms.present & broker_before.present & (back_ms > 0), back_ms, ids),
        "B06": _step("B06", late_ms > PUBLISH_TOLERANCE_MS, late_ms, ids),
    }
    return {code: step for code, step in steps.items() if step is not None}


def late_entries(newest_ms: int | None, pieces: Iterable[PublishTimes]) -> Step | None:
    """Entries published long before one that is stored before them (`B06`), among `pieces` or up to `newest_ms`."""
    step: Step | None = None
    for piece in pieces:
        late_ms = _late_ms(piece.publish_ms, newest_ms)
        step = add_steps("B06", step, _step("B06", late_ms > PUBLISH_TOLERANCE_MS, late_ms, piece.entry_ids))
        newest_ms = max((ms for ms in (newest_ms, piece.publish_ms.most()) if ms is not None), default=None)
    return step


def add_steps(code: str, before: Step | None, after: Step | None) -> Step | None:
    """Steps of one code in both of two neighbouring stretches."""
    if before is None or after is None:
        return before or after
    added = min(before.extent + after.extent, FARTHEST)
    return Step(
        before.count + after.count,
        added if code in _ADDED else max(before.extent, after.extent),
        (before.entry_ids + after.entry_ids)[:MAX_EVIDENCE],
    )


def clamped(index: int) -> int:
    """An index as it is compared."""
    return max(-FARTHEST, min(FARTHEST, index))


def neighbours(flags: Bools) -> Bools:
    """Whether a row and the one before it are set, from the second row on."""
    return flags[1:] & flags[:-1]


def _step(code: str, when: Bools, extent: Int64s, entry_ids: Int64s) -> Step | None:
    places = np.flatnonzero(when)
    if not len(places):
        return None
    far = extent[places]
    farthest = int(far.max())
    # A sum that may not fit is made of Python's numbers.
    total = int(far.sum()) if farthest < FARTHEST // len(far) else sum(far.tolist())
    listed = tuple(entry_ids[places[:MAX_EVIDENCE]].tolist())
    return Step(len(places), min(total, FARTHEST) if code in _ADDED else farthest, listed)


def _late_ms(publish_ms: Nullable, newest_ms: int | None) -> Int64s:
    """How long before the newest one stored before it each entry was published; at most 0 where nothing says so."""
    if newest_ms is None and publish_ms.present.all() and not (publish_ms.values[1:] < publish_ms.values[:-1]).any():
        return np.zeros_like(publish_ms.values)
    times = np.where(publish_ms.present, publish_ms.values, _NEVER)
    newest = np.maximum.accumulate(np.concatenate(([_NEVER if newest_ms is None else newest_ms], times)))[:-1]
    return np.where(publish_ms.present & (newest > _NEVER), newest - publish_ms.values, 0)
