"""Files read through the page cache of the system, from front to back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from types import TracebackType

import numpy as np

from pulsar_backlog.errors import SourceError
from pulsar_backlog.wire.arrays import Bytes

_PARTS_SOON = 2
"""Parts that the system reads while one is decoded: from a disk a scan takes a twenty-fifth less than with one."""
_UNSHARED = 2
"""References to memory that nobody else looks at: its owner's, and the one that counts them."""
_MOST_MEMORIES = 8
"""Memories of a stretch that are kept to be used again; more than threads look at together."""


class FileStretch:
    """A stretch of one file, opened when it is first read. Use it as a context.

    All of it goes through the same memory: new memory is as slow to get from the system as the bytes are to read. Where
    somebody still looks at what was read before, that memory is theirs; so there are as many as are looked at together.

    Args:
        open_file: opens the file.
        failure: what the system's error means to who reads the source.
        end: of the stretch.
    """

    def __init__(self, open_file: Callable[[], FileIO], failure: Callable[[OSError], SourceError], end: int) -> None:
        self._open_file, self._failure = open_file, failure
        self._file: FileIO | None = None
        self._end = end
        self._memories: list[Bytes] = []
        self._all_cached = hasattr(os, "RWF_NOWAIT")  # macOS does not tell

    def __enter__(self) -> FileStretch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def read(self, start: int, end: int) -> Bytes:
        """Bytes of the file, fewer where it ends before.

        Raises:
            SourceError: it cannot be read.
        """
        try:
            self._file = self._file or self._open_file()
            descriptor = self._file.fileno()
            size = max(0, min(end, os.fstat(descriptor).st_size) - start)
            buffer = self._memory_of(size)[:size]
            filled = self._cached(descriptor, buffer, start)
            while filled < size:  # one call gives 2 GiB at most, and may be interrupted
                if not (got := os.preadv(descriptor, [buffer.data[filled:]], start + filled)):
                    break
                filled += got
            if not self._all_cached:
                _read_soon(descriptor, end, min(_PARTS_SOON * (end - start), self._end - end))
        except OSError as error:
            raise self._failure(error) from error
        return buffer[:filled]

    def continue_with(self, following: object) -> None:
        """Nothing: a file's first bytes come at once."""

    def _cached(self, descriptor: int, buffer: Bytes, start: int) -> int:
        """How many bytes the system had in its page cache, while it had all of the stretch so far.

        To let it read soon what it has costs as much as a thirtieth of a scan: it looks for each page.
        """
        filled = 0
        if self._all_cached:
            with suppress(OSError):  # nothing is there, or this file system does not tell (preadv2(2))
                filled = os.preadv(descriptor, [buffer.data], start, os.RWF_NOWAIT)
            self._all_cached = filled == len(buffer)
        return filled

    def _memory_of(self, size: int) -> Bytes:
        # Every array and buffer that looks into a memory holds a reference to it, however it was made.
        for number in range(len(self._memories)):
            if sys.getrefcount(self._memories[number]) <= _UNSHARED:
                if len(self._memories[number]) < size:
                    self._memories[number] = np.empty(size, dtype=np.uint8)
                return self._memories[number]
        del self._memories[: max(0, len(self._memories) + 1 - _MOST_MEMORIES)]
        self._memories.append(np.empty(size, dtype=np.uint8))
        return self._memories[-1]


def _read_soon(descriptor: int, start: int, size: int) -> None:
    """Let the system read what is asked for next, where it takes such advice (macOS takes none)."""
    if size > 0 and hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, start, size, os.POSIX_FADV_WILLNEED)
