"""A record in the files of bookies, in numbers, and the compiled loop that compares copies of one.

```
record  [ size i32 ][ ledger id i64 ][ entry id i64 ][ LAC i64 ][ length i64 ][ digest ][ payload ]
          0           4                12                20         28            36
```
`size` counts from the ledger id on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pulsar_backlog.wire.loops import Loop

SIZE_BYTES = 4
META_BYTES = 32
"""Ledger id, entry id, LAC and length."""
HEAD_BYTES = SIZE_BYTES + META_BYTES
MAX_RECORD_BYTES = 256 * 1024 * 1024
"""Largest record that is believed; brokers take entries of 5 MiB unless told otherwise."""

UNPROVED, CRC32C, CRC32, HMAC = range(4)
"""Which digest agrees with a record's bytes. One that has none, or has a password that is not known, proves nothing."""

LEDGER, ENTRY, LAC, LENGTH, PLACE, SIZE, PROOF = range(7)
"""Rows of the array that records are given in: the place counts from the window's start."""
COLUMNS = 7

_CHUNK_BYTES = 64


@Loop
def compare_copies(buffer: Any, starts: Any, lengths: Any, others: Any, differs: Any) -> None:
    """Where entries and their copies differ first.

    Args:
        buffer: holds all of them.
        starts: two rows: first byte of each entry, and of its copy.
        lengths: two rows: bytes of each.
        others: two rows: a number of each that must be equal as well.
        differs: out: first byte that differs, counted from the entry's start; -1 where nothing does, -2 where only the
            numbers do.
    """
    for i in range(differs.size):
        first, second = starts[0, i], starts[1, i]
        shorter = min(lengths[0, i], lengths[1, i])
        at = 0
        while at + _CHUNK_BYTES <= shorter:
            any_bit = np.uint8(0)
            for k in range(_CHUNK_BYTES):  # without a way out, so that the compiler does many at once
                any_bit |= buffer[first + at + k] ^ buffer[second + at + k]
            if any_bit:
                break
            at += _CHUNK_BYTES
        while at < shorter and buffer[first + at] == buffer[second + at]:
            at += 1
        if at < shorter or lengths[0, i] != lengths[1, i]:
            differs[i] = at
        else:
            differs[i] = -1 if others[0, i] == others[1, i] else -2
