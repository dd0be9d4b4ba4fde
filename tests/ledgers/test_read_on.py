"""Units of one object that follow each other: one stretch, whose next ranges are asked for before a unit begins.

So are the first ranges of the next object.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.buckets.bucket import RANGES_AHEAD
from pulsar_backlog.ledgers.part import Part
from pulsar_backlog.ledgers.read_ahead import ReadAhead
from pulsar_backlog.ledgers.read_on import read_on
from pulsar_backlog.ledgers.store import Source, Stretch
from pulsar_backlog.ledgers.values import Block, ScanUnit

OBJECT = np.arange(1200, dtype=np.int64).astype(np.uint8)
SOURCE = Source("s3://bucket", None)


class Recorded:
    """A bucket of one object, with what was asked of it."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self.threads = threads
        self.opened: list[tuple[int, int]] = []
        self.closed: list[tuple[int, int]] = []
        self.asked: list[int] = []

    @contextmanager
    def ahead(self, path: str, start: int, end: int, sparing_bytes: int = 0) -> Iterator[Stretch]:
        self.opened.append((start, end))
        with ReadAhead(self.read, start, end, 100, RANGES_AHEAD, self.threads, sparing_bytes) as stretch:
            try:
                yield stretch
            finally:
                self.closed.append((start, end))

    def read(self, start: int, end: int) -> Part:
        self.asked.append(start)
        return Part(OBJECT[start:end])


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    with ThreadPoolExecutor(1) as threads:
        recorded = Recorded(threads)
        monkeypatch.setattr(Source, "_place", lambda _source, _path: recorded)
        yield recorded


def unit(start: int, end: int, path: str = "object") -> ScanUnit:
    return ScanUnit(1, "copy", "t", path, 0, (Block(start, end - start, 0, entry_count=None),))


UNITS = (unit(0, 300), unit(300, 600), unit(600, 900), unit(1000, 1200), unit(0, 300, "other"))


def walk(source: Source, one: ScanUnit) -> None:
    start, end = one.blocks[0].offset, one.blocks[0].offset + one.blocks[0].length
    with source.ahead(one.path, start, end) as stretch:
        for at in range(start, end, 50):
            assert np.array_equal(stretch.read(at, at + 50), OBJECT[at : at + 50])


def test_one_stretch_for_units_that_follow_each_other(bucket: Recorded) -> None:
    source = read_on(SOURCE, UNITS)
    walk(source, UNITS[0])
    bucket.threads.submit(int).result()  # behind what was asked for
    assert bucket.opened == [(0, 900), (1000, 1200)]
    assert 300 in bucket.asked
    for one in UNITS[1:]:
        walk(source, one)
    assert bucket.opened == [(0, 900), (1000, 1200), (0, 300)]
    assert len(bucket.asked) == len(set(bucket.asked)) + 3  # those of the other object


def test_a_unit_that_cannot_be_read_ends_its_stretch(bucket: Recorded) -> None:
    source = read_on(SOURCE, UNITS)
    with pytest.raises(SourceError), source.ahead("object", 0, 300):
        raise SourceError("object", "failed", "gone")
    walk(source, UNITS[1])
    assert bucket.opened == [(0, 900), (1000, 1200), (300, 900)]


def test_units_in_another_order_have_stretches_of_their_own(bucket: Recorded) -> None:
    source = read_on(SOURCE, UNITS)
    for one in (UNITS[2], UNITS[0], UNITS[1]):
        walk(source, one)
    assert bucket.opened == [(600, 900), (1000, 1200), (0, 900)]


def test_the_next_object_is_asked_for_when_all_of_this_one_is_under_way(bucket: Recorded) -> None:
    one, other = unit(0, 1200), unit(0, 1200, "other")
    source = read_on(SOURCE, (one, other))
    with source.ahead("object", 0, 1200) as stretch:
        for at in range(0, 1200, 100):
            stretch.read(at, at + 100)
            under_way = len(bucket.asked) - at // 100
            bucket.threads.submit(int).result()  # behind what was asked for
            assert len(bucket.asked) - at // 100 == min(RANGES_AHEAD, 24 - at // 100) >= under_way
    walk(source, other)
    assert bucket.opened == [(0, 1200), (0, 1200)]
    assert bucket.asked == [*range(0, 1200, 100)] * 2


def test_nobody_asks_for_an_object_that_is_read_in_another_way(bucket: Recorded) -> None:
    source = read_on(SOURCE, (unit(0, 300), replace(unit(0, 300, "other"), kind="filesystem")))
    walk(source, UNITS[0])
    assert bucket.opened == [(0, 300)]


def test_an_object_that_is_not_read_after_all_is_left(bucket: Recorded) -> None:
    source = read_on(SOURCE, (unit(0, 300), unit(0, 200, "other"), unit(500, 600)))
    walk(source, unit(0, 300))
    assert bucket.closed == [(0, 300)]
    walk(source, unit(500, 600))
    assert bucket.opened == [(0, 300), (0, 200), (500, 600)]
    assert bucket.closed == [(0, 300), (0, 200), (500, 600)]
