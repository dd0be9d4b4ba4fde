"""Bytes of an object or file that is read from front to back, fetched before they are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from types import TracebackType

import numpy as np

from pulsar_backlog.ledgers.part import Part
from pulsar_backlog.wire.arrays import Bytes

Range = Callable[[int, int], Part]


class ReadAhead:
    """One stretch of one object. Use it as a context, in one thread; what is under way at its end is not waited for.

    Args:
        read: gives a range of the object.
        start, end: of the stretch.
        range_bytes: of a range.
        most: ranges under way or waiting at once: what a task holds in memory besides its window.
        threads: where ranges are fetched.
        sparing_bytes: first bytes of the stretch, behind which nothing is fetched ahead: few of them may be enough.
    """

    def __init__(
        self,
        read: Range,
        start: int,
        end: int,
        range_bytes: int,
        most: int,
        threads: Executor,
        sparing_bytes: int = 0,
    ) -> None:
        self._read = read
        self._end = end
        self._ahead_from = start + sparing_bytes
        self._range_bytes, self._most = range_bytes, most
        self._threads = threads
        self._parts: deque[tuple[int, int, Future[Part]]] = deque()
        self._next = start
        self._following: ReadAhead | None = None

    def __enter__(self) -> ReadAhead:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._drop_all()

    def read(self, start: int, end: int) -> Bytes:
        """Bytes of the object, fewer where it ends before; not to be written to.

        Raises:
            SourceError: the object cannot be read.
        """
        while self._parts and self._parts[0][1] <= start:
            self._parts.popleft()[2].cancel()
        if start != self._next if not self._parts else start < self._parts[0][0]:
            self._drop_all()
            self._next = start
        pieces: list[Bytes] = []
        at = start
        while at < end:
            self._ask_ahead(max(end, self._end) if start >= self._ahead_from else end, self._most)
            if self._following is not None and self._next >= self._end:
                self._following.begin(self._most - len(self._parts))
            first, after, part = self._parts[0]
            data = part.result().data
            if after >= end or len(data) < after - first:
                if pieces and at == first:
                    return part.result().behind(pieces, end - first)
                pieces.append(data[at - first : end - first])
                break
            pieces.append(data[at - first :])
            self._parts.popleft()
            at = after
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate(pieces) if pieces else np.empty(0, dtype=np.uint8)

    def continue_with(self, following: object) -> None:
        """What is read after this one: together they have as many ranges under way as one alone."""
        self._following = following if isinstance(following, ReadAhead) else None

    def begin(self, most: int) -> None:
        """Have up to so many ranges under way before the first is asked for, unless few bytes may be enough."""
        if self._next >= self._ahead_from:
            self._ask_ahead(self._end, most)

    def _ask_ahead(self, end: int, most: int) -> None:
        """Have so many ranges under way; the one that is needed next is the first."""
        while len(self._parts) < most and self._next < end:
            first, self._next = self._next, min(self._next + self._range_bytes, end)
            self._parts.append((first, self._next, self._threads.submit(self._read, first, self._next)))

    def _drop_all(self) -> None:
        for _, _, part in self._parts:
            part.cancel()
        self._parts.clear()
