"""Ranges joined into windows: the right bytes, nothing announced is read twice, and memory is bounded."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.messages import ranges
from pulsar_backlog.messages.ranges import GAP_BYTES, HELD_BYTES, WINDOW_BYTES, RangeReader, join_ranges

OBJECT = (np.arange(1 << 20, dtype=np.uint32) * 2654435761 >> 7).astype(np.uint8)
wanted = st.lists(st.tuples(st.integers(0, (1 << 20) - 1), st.integers(0, 200_000)), max_size=20)


@given(wanted)
def test_every_range_gives_its_bytes_in_any_order(places: list[tuple[int, int]]) -> None:
    reader = RangeReader(lambda path, start, end: OBJECT[start:end], [("a", s, s + n) for s, n in places])
    for start, length in reversed(places):
        assert reader.get("a", start, start + length).tobytes() == OBJECT[start : start + length].tobytes()
    assert reader._held_bytes == 0


@given(wanted)
def test_windows_cover_all_ranges_once(places: list[tuple[int, int]]) -> None:
    windows = join_ranges(("a", s, s + n) for s, n in places)
    assert sum(count for *_, count in windows) == len(places)
    for start, length in places:
        assert any(first <= start and start + length <= end for _, first, end, _ in windows)


def test_near_ranges_are_one_read_and_far_ones_are_not() -> None:
    assert len(join_ranges([("a", 0, 10), ("a", 10 + GAP_BYTES, 20 + GAP_BYTES)])) == 1
    assert len(join_ranges([("a", 0, 10), ("a", 11 + GAP_BYTES, 20 + GAP_BYTES)])) == 2
    assert len(join_ranges([("a", 0, 10), ("b", 10, 20)])) == 2
    assert len(join_ranges([("a", 0, WINDOW_BYTES), ("a", WINDOW_BYTES, WINDOW_BYTES + 1)])) == 2


def test_announced_ranges_cost_one_read_each_window() -> None:
    reads: list[tuple[int, int]] = []

    def read(path: str, start: int, end: int) -> np.ndarray:
        reads.append((start, end))
        return OBJECT[start:end]

    reader = RangeReader(read, [("a", at, at + 1000) for at in range(0, 500_000, 1000)])
    for at in range(0, 500_000, 1000):
        reader.get("a", at, at + 1000)
    assert reads == [(0, 500_000)]
    assert reader.bytes_read == 500_000


def test_what_is_held_is_bounded_when_use_jumps_about(monkeypatch: object) -> None:
    del monkeypatch
    count = 3 * HELD_BYTES // WINDOW_BYTES
    starts = [i * (WINDOW_BYTES + GAP_BYTES + 1) for i in range(count)]
    halves = [("a", s + h * WINDOW_BYTES // 2, s + (h + 1) * WINDOW_BYTES // 2) for h in (0, 1) for s in starts]
    held = 0
    reader = RangeReader(lambda path, start, end: np.zeros(end - start, dtype=np.uint8), halves)
    for path, start, end in halves:  # every window is opened before any is used up
        assert len(reader.get(path, start, end)) == end - start
        held = max(held, reader._held_bytes)
    assert held <= ranges.HELD_BYTES


def test_an_object_that_ends_early_gives_fewer_bytes() -> None:
    reader = RangeReader(lambda path, start, end: OBJECT[:50][start:end], [("a", 40, 60), ("a", 60, 70)])
    assert len(reader.get("a", 40, 60)) == 10
    assert len(reader.get("a", 60, 70)) == 0
