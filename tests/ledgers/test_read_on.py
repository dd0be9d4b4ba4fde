"""Units of one object that follow each other: one stretch, whose next ranges are asked for before a unit begins."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import numpy as np
import pytest

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.buckets.access import Access
from pulsar_backlog.ledgers.buckets.read_ahead import ReadAhead
from pulsar_backlog.ledgers.read_on import read_on
from pulsar_backlog.ledgers.store import Source, Stretch
from pulsar_backlog.ledgers.values import Block, ScanUnit
from pulsar_backlog.wire.arrays import Bytes

OBJECT = np.arange(1200, dtype=np.int64).astype(np.uint8)
SOURCE = Source("s3://bucket", None)


class Recorded:
    """A bucket of one object, with what was asked of it."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self.threads = threads
        self.opened: list[tuple[int, int]] = []
        self.asked: list[int] = []

    def ahead(self, path: str, start: int, end: int, sparing_bytes: int = 0) -> AbstractContextManager[Stretch]:
        self.opened.append((start, end))
        return ReadAhead(self.read, start, end, Access(range_bytes=100), self.threads, sparing_bytes)

    def read(self, start: int, end: int) -> Bytes:
        self.asked.append(start)
        return OBJECT[start:end]


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
    assert bucket.opened == [(0, 900)]
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
    assert bucket.opened == [(0, 900), (300, 900)]


def test_units_in_another_order_have_stretches_of_their_own(bucket: Recorded) -> None:
    source = read_on(SOURCE, UNITS)
    for one in (UNITS[2], UNITS[0], UNITS[1]):
        walk(source, one)
    assert bucket.opened == [(600, 900), (0, 900)]
