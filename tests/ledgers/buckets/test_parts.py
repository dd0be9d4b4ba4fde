"""Windows that lie in two ranges: the bytes of the object, copied only where they are many, while all are looked at."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pulsar_backlog.ledgers.part import Part
from pulsar_backlog.ledgers.read_ahead import ReadAhead
from pulsar_backlog.wire.arrays import Bytes

OBJECT = np.random.default_rng(7).integers(0, 256, 20_000, dtype=np.uint8)
RANGE = 1000
ROOM = 125


def windows(starts: list[int], size: int) -> tuple[list[Bytes], list[Part]]:
    """The windows of the object from each start on, and the ranges they were read from."""
    parts: list[Part] = []

    def read(start: int, end: int) -> Part:
        data = OBJECT[start:end]
        parts.append(Part(np.concatenate([np.zeros(ROOM, dtype=np.uint8), data]), ROOM))
        return parts[-1]

    with (
        ThreadPoolExecutor(1) as threads,
        ReadAhead(read, 0, len(OBJECT), RANGE, 10, threads) as stretch,
    ):
        return [stretch.read(start, start + size) for start in starts], parts


@pytest.mark.parametrize("size", [300, RANGE, 2500])
@pytest.mark.parametrize("cut", [0, 1, 7, ROOM, ROOM + 1, 260])
def test_windows_that_overlap_are_the_object(size: int, cut: int) -> None:
    starts = list(range(0, len(OBJECT), size - cut))
    for start, window in zip(starts, windows(starts, size)[0], strict=True):
        assert np.array_equal(window, OBJECT[start : start + size])


@pytest.mark.parametrize(("cut", "is_copied"), [(0, False), (1, False), (ROOM, False), (ROOM + 1, True)])
def test_a_window_is_copied_where_there_is_no_room(cut: int, is_copied: bool) -> None:
    (_, window), parts = windows([0, RANGE - cut], RANGE)
    assert window.tobytes() == OBJECT[RANGE - cut : 2 * RANGE - cut].tobytes()
    assert np.shares_memory(window, parts[1].memory) is not is_copied
