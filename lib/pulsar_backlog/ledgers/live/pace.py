"""A limit on bytes a second, kept by all readers of a run together."""

from __future__ import annotations

import fcntl
import os
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

CREDIT_SECONDS = 1.0
"""Time without reading that is made up for at most: readers decode and write in between."""
_FREE_AT = struct.Struct("<d")


class Pace:
    """A limit on bytes a second.

    Args:
        rate: bytes a second.
        now: clock; monotonic, the same in all processes of a machine.
        sleep: waits.
        path: file by which processes share the limit; None where this process has it for itself.
    """

    def __init__(
        self,
        rate: int,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        path: Path | None = None,
    ) -> None:
        self._rate, self._now, self._sleep, self._path = rate, now, sleep, path
        self._free_at: float | None = None
        self._lock = threading.Lock()

    def spend(self, size: int) -> None:
        """Wait until that many more bytes are within the limit."""
        with self._lock:
            ahead = self._book(size) if self._path is None else self._book_shared(self._path, size)
        if ahead > 0:
            self._sleep(ahead)

    def _book(self, size: int) -> float:
        """Count the bytes; seconds until they are within the limit."""
        now = self._now()
        begin = now if self._free_at is None else max(self._free_at, now - CREDIT_SECONDS)
        self._free_at = begin + size / self._rate
        return self._free_at - now

    def _book_shared(self, path: Path, size: int) -> float:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            stored = os.pread(descriptor, _FREE_AT.size, 0)
            self._free_at = _FREE_AT.unpack(stored)[0] if len(stored) == _FREE_AT.size else None
            ahead = self._book(size)
            os.pwrite(descriptor, _FREE_AT.pack(self._free_at), 0)
            return ahead
        finally:
            os.close(descriptor)
