"""Entries, bytes and chunks over time, in at most `CELLS` cells however long the time is.

Cells are as wide as a power of two of milliseconds and begin at its multiples, so narrow ones fit into wide ones: the
cells of two stretches make those of both together, wherever they were cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pulsar_backlog.facts.stretch import Stretch
from pulsar_backlog.wire.arrays import Int64s

CELLS = 128


@dataclass(frozen=True)
class Sizes:
    """What was stored when.

    Attributes:
        cell_ms: width of a cell, a power of two; 1 where there is none.
        starts: where cells begin, ascending multiples of the width; only those that hold an entry.
        sums: rows of entries, bytes, entries with a chunk uuid; a column for each cell.
    """

    cell_ms: int
    starts: Int64s
    sums: Int64s

    def __add__(self, other: Sizes) -> Sizes:
        """Both together."""
        if not len(self.starts) or not len(other.starts):
            return self if len(self.starts) else other
        starts = np.concatenate((self.starts, other.starts))
        return _cells(starts, np.concatenate((self.sums, other.sums), axis=1), max(self.cell_ms, other.cell_ms))


def sizes_of(stretch: Stretch) -> Sizes:
    """The sizes of a stretch; entries of no known time are left out."""
    timed = stretch.stored_ms.present
    entries, chunks = np.ones(len(stretch), dtype=np.int64), stretch.has_uuid.astype(np.int64)
    sums, times = np.stack((entries, stretch.lengths, chunks)), stretch.stored_ms.values
    return _cells(times, sums, 1) if timed.all() else _cells(times[timed], sums[:, timed], 1)


def width_ms(first_ms: int, last_ms: int, least_ms: int = 1) -> int:
    """The narrowest width from `least_ms` on with which `CELLS` cells cover both times."""
    width = least_ms
    while last_ms // width - first_ms // width >= CELLS:
        width *= 2
    return width


def _cells(times: Int64s, sums: Int64s, least_ms: int) -> Sizes:
    if not len(times):
        return Sizes(1, times, sums)
    first_ms = int(times.min())
    width = width_ms(first_ms, int(times.max()), least_ms)
    cells = times // width - first_ms // width
    used = np.flatnonzero(np.bincount(cells))
    added = np.zeros((len(sums), int(cells.max()) + 1), dtype=np.int64)
    for into, values in zip(added, sums, strict=True):
        np.add.at(into, cells, values)
    return Sizes(width, (used + first_ms // width) * width, added[:, used])
