"""Files that the system does not hold in its page cache, read past it.

What goes through the page cache is copied once more, and a page is found for each block, filled and given up: from a
quick disk that takes a core a third as long as all that a scan does with the bytes. It also drives out what other
programs keep there. Linux reads into a program's own memory instead (`O_DIRECT` of open(2)): whole blocks, to aligned
addresses, one range after the other, so that ranges must be read ahead.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np

from pulsar_backlog.ledgers.part import Part
from pulsar_backlog.wire.arrays import Bytes

RANGE_BYTES = 8 * 1024 * 1024
"""Bytes that are read at once."""
RANGES_AHEAD = 10
"""Ranges of one stretch under way or waiting at once."""
BLOCK_BYTES = 4096
"""What places in files, sizes and addresses are whole multiples of, for any disk."""
_ROOM_BYTES = 1024 * 1024
"""Memory before a range, for what a window has of the range before it."""


def is_uncached(path: Path, place: int) -> bool:
    """Whether a byte of a file is not in the page cache; false where the system cannot tell, or not read past it.

    File systems of disks answer (`RWF_NOWAIT` of preadv2(2); ext4, XFS, btrfs), those of networks and containers not.
    """
    if not hasattr(os, "O_DIRECT") or not hasattr(os, "RWF_NOWAIT"):  # macOS
        return False
    try:
        with path.open("rb", buffering=0) as file:
            os.preadv(file.fileno(), [bytearray(1)], place, os.RWF_NOWAIT)
    except BlockingIOError:
        return True
    except OSError:  # it does not answer; or there is no such file, which who reads it will say
        return False
    return False


def read_uncached(path: Path, start: int, end: int) -> Part:
    """Bytes of a file, fewer where it ends before, in memory with room before them.

    Raises:
        OSError: it cannot be read; `EINVAL` where its file system or disk has no such reads, or not of such blocks.
    """
    first = start // BLOCK_BYTES * BLOCK_BYTES
    size = -(-(end - first) // BLOCK_BYTES) * BLOCK_BYTES
    memory, filled = _aligned_memory(_ROOM_BYTES + size), 0
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT)
    try:
        while filled < size and filled % BLOCK_BYTES == 0:  # the file's end alone gives less than a block
            if not (got := os.preadv(descriptor, [memory.data[_ROOM_BYTES + filled :]], first + filled)):
                break
            filled += got
    finally:
        os.close(descriptor)
    stop = min(max(first + filled, start), end)
    return Part(memory[: _ROOM_BYTES + stop - first], _ROOM_BYTES + start - first)


def _aligned_memory(size: int) -> Bytes:
    memory = np.empty(size + BLOCK_BYTES, dtype=np.uint8)
    first = -memory.ctypes.data % BLOCK_BYTES
    return memory[first : first + size]


@cache
def reading_threads() -> ThreadPoolExecutor:
    """Where ranges are read, in this process."""
    return ThreadPoolExecutor(2, "reading")
