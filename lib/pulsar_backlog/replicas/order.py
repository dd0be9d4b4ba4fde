"""Which messages stand in another order: the fewest that one would have to move."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pulsar_backlog.wire.loops import Loop

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def moved(stream: Int64s, here: Int64s, there: Int64s) -> Bools:
    """Which of the pairs stand in another order on the two sides; the order of different streams is nobody's promise.

    Args:
        stream: by which messages are told apart that came on different ways, such as from another cluster.
        here: the place of each pair in one log.
        there: its place in the other.
    """
    out_of_order = np.zeros(len(stream), dtype=np.bool_)
    if not len(stream):
        return out_of_order
    order = np.lexsort((here, stream))
    streams, places = stream[order], there[order]
    begins = np.flatnonzero(np.concatenate((np.ones(1, dtype=np.bool_), np.diff(streams) != 0)))
    for start, stop in zip(begins, [*begins[1:], len(order)], strict=True):
        run = places[start:stop]
        if (run[1:] > run[:-1]).all():
            continue
        stays = np.zeros(len(run), dtype=np.bool_)
        loop = _longest_ascent if len(run) > _FEW else _longest_ascent.interpreted
        loop(run, np.empty(len(run), dtype=np.int64), np.empty(len(run), dtype=np.int64), stays)
        out_of_order[order[start:stop]] = ~stays
    return out_of_order


_FEW = 20_000
"""Pairs for which numba is not worth loading."""


@Loop
def _longest_ascent(places: Any, ends: Any, before: Any, stays: Any) -> None:
    """Mark a longest ascending subsequence: patience sorting, n log n.

    `ends[k]` is where the ascent of length k + 1 with the least end ends, `before[i]` what comes before i in its own.
    """
    length = 0
    for at in range(len(places)):
        low, high = 0, length
        while low < high:
            middle = (low + high) // 2
            if places[ends[middle]] < places[at]:
                low = middle + 1
            else:
                high = middle
        before[at] = ends[low - 1] if low > 0 else -1
        ends[low] = at
        if low == length:
            length += 1
    at = ends[length - 1] if length > 0 else -1
    while at >= 0:
        stays[at] = True
        at = before[at]
