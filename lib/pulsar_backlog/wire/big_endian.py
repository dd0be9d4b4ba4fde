"""Numbers as ledgers hold them, most significant byte first, for loops over a buffer."""

from __future__ import annotations

from typing import Any

import numpy as np

from pulsar_backlog.wire.loops import Loop


@Loop
def i32(buffer: Any, at: int) -> int:
    """The signed number of four bytes at a place, which must lie in the buffer."""
    word = (
        (np.uint32(buffer[at]) << np.uint32(24))
        | (np.uint32(buffer[at + 1]) << np.uint32(16))
        | (np.uint32(buffer[at + 2]) << np.uint32(8))
        | np.uint32(buffer[at + 3])
    )
    return int(np.int32(word))


@Loop
def i64(buffer: Any, at: int) -> int:
    """The signed number of eight bytes at a place, which must lie in the buffer."""
    word = np.uint64(0)
    for i in range(8):
        word = (word << np.uint64(8)) | np.uint64(buffer[at + i])
    return int(np.int64(word))
