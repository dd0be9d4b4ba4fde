"""Entries, bytes and chunks over time, in at most `CELLS` cells however long the time is.

Cells are as wide as a power of two of milliseconds and begin at its multiples, so narrow ones fit into wide ones: the
cells of two stretches make those of both together, wherever they were cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pulsar_backlog.facts import stretch_fold as fold
from pulsar_backlog.facts.entry_numbers import BROKER, LENGTH, PUBLISH, UUID, stored_ms
from pulsar_backlog.facts.stretch import Stretch
from pulsar_backlog.wire.arrays import Int64s
from pulsar_backlog.wire.loops import Loop

CELLS = 128
_SUM_COUNT = 3


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
    oldest_ms, newest_ms = (
        stretch.folded.extreme(place, fold.STORED_TIMES) for place in (fold.OLDEST_STORED, fold.NEWEST_STORED)
    )
    if oldest_ms is None or newest_ms is None:
        return Sizes(1, np.empty(0, np.int64), np.empty((_SUM_COUNT, 0), np.int64))
    width = width_ms(oldest_ms, newest_ms)
    first, sums = oldest_ms // width, np.zeros((_SUM_COUNT, CELLS), dtype=np.int64)
    _fold_sizes(stretch.flags, stretch.numbers, first, _shift(width), sums)
    used = np.flatnonzero(sums[0])
    return Sizes(width, (first + used) * width, sums[:, used])


@Loop
def _fold_sizes(flags: Any, numbers: Any, first: int, shift: int, sums: Any) -> None:
    """Add entries to their cells, of `first` and those after it."""
    for row in range(len(flags)):
        flag = flags[row]
        if flag & (BROKER | PUBLISH):
            cell = (stored_ms(flag, numbers, row) >> shift) - first
            sums[0, cell] += 1
            sums[1, cell] += numbers[LENGTH][row]
            sums[2, cell] += flag & UUID != 0


def width_ms(first_ms: int, last_ms: int, least_ms: int = 1) -> int:
    """The narrowest width from `least_ms` on with which `CELLS` cells cover both times."""
    width = least_ms
    while last_ms // width - first_ms // width >= CELLS:
        width *= 2
    return width


def _shift(width: int) -> int:
    return width.bit_length() - 1


def _cells(starts: Int64s, sums: Int64s, least_ms: int) -> Sizes:
    """Cells of at least this width, from others whose order is any."""
    width = width_ms(int(starts.min()), int(starts.max()), least_ms)
    cells = starts >> _shift(width)
    order = np.argsort(cells, kind="stable")
    cells, sums = cells[order], sums[:, order]
    firsts = np.flatnonzero(np.concatenate(([True], cells[1:] != cells[:-1])))
    return Sizes(width, cells[firsts] * width, np.add.reduceat(sums, firsts, axis=1))
