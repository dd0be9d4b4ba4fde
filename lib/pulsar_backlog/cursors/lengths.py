"""Loops that tell how many bytes fields of `PositionInfo` take."""

from __future__ import annotations

from typing import Any

import numpy as np

from pulsar_backlog.wire.loops import Loop


@Loop
def varint_length(value: int) -> int:
    """Bytes of a varint; a negative number takes 10."""
    bits = np.uint64(value)
    length = 1
    while bits >= np.uint64(0x80):
        bits >>= np.uint64(7)
        length += 1
    return length


@Loop
def nested_length(ledger_id: int, entry_id: int) -> int:
    """Bytes of a NestedPosition."""
    return int(2 + varint_length(ledger_id) + varint_length(entry_id))


@Loop
def range_lengths(ranges: Any, out: Any) -> int:
    """Bytes that each row of `ranges` takes as field 3, with tag and length, into `out`; their sum."""
    total = 0
    for row in range(len(ranges)):
        lower = nested_length(ranges[row, 0], ranges[row, 1])
        upper = nested_length(ranges[row, 2], ranges[row, 3])
        body = 2 + varint_length(lower) + varint_length(upper) + lower + upper
        out[row] = 1 + varint_length(body) + body
        total += out[row]
    return total


@Loop
def words_length(words: Any) -> int:
    """Bytes of the words as unpacked fields 2."""
    total = 0
    for k in range(len(words)):
        total += 1 + varint_length(words[k])
    return total
