"""Byte ranges read together: what will be wanted is said first, near ranges become one read, used ones are let go."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pulsar_backlog.ledgers.entry_batch import Place
from pulsar_backlog.ledgers.places import BlockOpener
from pulsar_backlog.wire.arrays import Bytes

Read: TypeAlias = Callable[[str, int, int], Bytes]
"""Path, first byte, byte after the last -> the bytes, fewer where the object ends before."""
Range: TypeAlias = tuple[str, int, int]
"""Path, first byte, byte after the last."""

WINDOW_BYTES = 8 * 1024 * 1024
"""Largest read that joins ranges; larger ones touch memory that is new to the process each time."""
GAP_BYTES = 64 * 1024
"""Unwanted bytes between two ranges that are read along: less than what another request costs."""
HELD_BYTES = 64 * 1024 * 1024
"""Read and not used up; beyond it the oldest window is let go, and read again if it must be."""


@dataclass(slots=True)
class _Window:
    path: str
    start: int
    end: int
    wanted: int = 0
    data: Bytes | None = field(default=None, repr=False)


def join_ranges(ranges: Iterable[Range]) -> list[tuple[str, int, int, int]]:
    """Windows that cover the ranges: path, first byte, byte after the last, ranges inside. Ascending by path and place.

    No window is larger than `WINDOW_BYTES`, but for a range that is; no range is cut.
    """
    joined: list[tuple[str, int, int, int]] = []
    for path, start, end in sorted(ranges):
        if joined:
            last_path, first, last, count = joined[-1]
            near = path == last_path and start <= last + GAP_BYTES
            if near and max(end, last) - first <= WINDOW_BYTES:
                joined[-1] = (path, first, max(end, last), count + 1)
                continue
        joined.append((path, start, end, 1))
    return joined


def range_of(place: Place) -> Range:
    """What must be read of an object to have what lies at a place."""
    return place.path, place.offset, place.end


class RangeReader:
    """Gives out ranges of objects; those announced cost one read for each window they lie in."""

    def __init__(self, read: Read, announced: Iterable[Range] = (), opener: BlockOpener | None = None) -> None:
        """Read by `read`, what is compressed through `opener`; without one nothing is."""
        self._read = read
        self._opener = opener
        self._windows = [_Window(*window) for window in join_ranges(announced)]
        self._starts: Sequence[tuple[str, int]] = [(window.path, window.start) for window in self._windows]
        self._held: dict[int, _Window] = {}
        self._held_bytes = 0
        self.bytes_read = 0

    def get(self, path: str, start: int, end: int) -> Bytes:
        """Bytes of a range, fewer where the object ends before; each announced range may be had once.

        Raises:
            SourceError: the object cannot be read.
        """
        at = bisect_right(self._starts, (path, start)) - 1
        window = self._windows[at] if at >= 0 else None
        if window is None or window.path != path or end > window.end or window.wanted == 0:
            return self._fetch(path, start, end)
        if window.data is None:
            self._load(at, window)
        data = window.data
        if data is None:  # pragma: no cover - _load has filled it or raised
            return self._fetch(path, start, end)
        part = data[start - window.start : end - window.start]
        window.wanted -= 1
        if window.wanted == 0:
            self._drop(at)
        return part

    def part(self, place: Place) -> Bytes:
        """What lies at a place, shorter where the object or block ends before; announced as `range_of` says.

        Raises:
            SourceError: the object cannot be read.
        """
        stored = self.get(*range_of(place))
        return self._opener.part(place, stored) if self._opener else stored

    def _load(self, at: int, window: _Window) -> None:
        while self._held and self._held_bytes + window.end - window.start > HELD_BYTES:
            self._drop(next(iter(self._held)))
        window.data = self._fetch(window.path, window.start, window.end)
        self._held[at] = window
        self._held_bytes += len(window.data)

    def _drop(self, at: int) -> None:
        window = self._held.pop(at, None)
        if window is not None and window.data is not None:
            self._held_bytes -= len(window.data)
            window.data = None

    def _fetch(self, path: str, start: int, end: int) -> Bytes:
        data = self._read(path, start, end)
        self.bytes_read += len(data)
        return data
