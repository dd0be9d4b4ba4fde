"""Steps out of order in a stretch: of index, broker metadata, broker's clock and publish time.

An entry is compared with its neighbour where it must be (index gaps, presence of metadata), and with all before it in
the ledger where that says more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pulsar_backlog.facts import stretch_fold as fold
from pulsar_backlog.facts.stretch import Nullable, Stretch
from pulsar_backlog.facts.stretch_fold import FARTHEST, PUBLISH_TOLERANCE_MS
from pulsar_backlog.findings import MAX_EVIDENCE
from pulsar_backlog.wire.arrays import Int64s

STEPS = ("B01", "B02", "B03", "B04", "B06")
"""Codes of what one entry shows against those before it, in the order of the loop's kinds."""
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
    folded = stretch.folded
    steps: dict[str, Step] = {}
    for code, of, ids in zip(STEPS, folded.steps.tolist(), folded.evidence, strict=True):
        if of[fold.STEPS]:
            extent = of[fold.SUM if code in _ADDED else fold.FARTHEST_STEP]
            steps[code] = Step(of[fold.STEPS], extent, tuple(ids[: of[fold.STEPS]].tolist()))
    return steps


def late_entries(newest_ms: int | None, pieces: Iterable[PublishTimes]) -> Step | None:
    """Entries published long before one that is stored before them (`B06`), among `pieces` or up to `newest_ms`."""
    step: Step | None = None
    for piece in pieces:
        late_ms = _late_ms(piece.publish_ms, newest_ms)
        step = add_steps("B06", step, _late_step(late_ms, piece.entry_ids))
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


def _late_step(late_ms: Int64s, entry_ids: Int64s) -> Step | None:
    places = np.flatnonzero(late_ms > PUBLISH_TOLERANCE_MS)
    if not len(places):
        return None
    return Step(len(places), int(late_ms[places].max()), tuple(entry_ids[places[:MAX_EVIDENCE]].tolist()))


def _late_ms(publish_ms: Nullable, newest_ms: int | None) -> Int64s:
    """How long before the newest one stored before it each entry was published; at most 0 where nothing says so."""
    times = np.where(publish_ms.present, publish_ms.values, _NEVER)
    newest = np.maximum.accumulate(np.concatenate(([_NEVER if newest_ms is None else newest_ms], times)))[:-1]
    return np.where(publish_ms.present & (newest > _NEVER), newest - publish_ms.values, 0)
