"""The compiled loop over frames that bring entries: where each lies, without a Python object for any of them.

```
frame           [size i32][command size i32][BaseCommand][entry]
BaseCommand     1 type = 9 (MESSAGE), 9 CommandMessage
CommandMessage  1 consumer, 2 MessageIdData (1 ledger, 2 entry), others
entry           see wire/entry.py; of its metadata field 11, num_messages_in_batch
```
Numbers are big-endian in frames; fields are protobuf's. Whatever lengths say, nothing is read outside the buffer.

Source: PulsarApi.proto and Commands.java at https://github.com/apache/pulsar/blob/492eb456/pulsar-common/src/main/
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pulsar_backlog.wire.big_endian import i32
from pulsar_backlog.wire.loops import Loop

LEDGER, ENTRY, PLACE, LENGTH, MESSAGES = range(5)
"""Rows of the array that messages are given in: position; the entry's first byte, and bytes; the permits it takes."""
COLUMNS = 5
LEAST_BYTES = 16
"""Of a frame that brings an entry, with its size."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_TYPE_FIELD, _MESSAGE, _BATCH_FIELD = 1, 9, 11


@Loop
def _varint(buffer: Any, at: int, end: int) -> Any:
    """A number of 64 bits, read as signed, and the place after it; the place is -1 where there is none."""
    value, shift = 0, 0
    while at < end and shift < 63:
        byte = int(buffer[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    if at < end and buffer[at] <= 1:  # the tenth byte has the sign
        return value - 0x7FFFFFFFFFFFFFFF * int(buffer[at]) - int(buffer[at]), at + 1
    return 0, -1


@Loop
def _field(buffer: Any, at: int, end: int) -> Any:
    """Number and type of a field, its value (of bytes their length), where it begins and the place after it, or -1."""
    tag, at = _varint(buffer, at, end)
    if at < 0:
        return 0, 0, 0, 0, -1
    kind = tag & 7
    if kind == _VARINT:
        begin = at
        value, at = _varint(buffer, at, end)
        return tag >> 3, kind, value, begin, at
    value = 0
    if kind == _BYTES:
        value, at = _varint(buffer, at, end)
    elif kind == _FIXED64:
        value = 8
    elif kind == _FIXED32:
        value = 4
    else:
        at = -1
    if at < 0 or value < 0 or value > end - at:
        return 0, 0, 0, 0, -1
    return tag >> 3, kind, value, at, at + value


@Loop
def _bytes_field(buffer: Any, at: int, end: int, wanted: int) -> Any:
    """Begin and end of the last field of a number that holds bytes; end -1 where there is none, or no plain message."""
    begin, stop = 0, -1
    while at < end:
        number, kind, length, first, at = _field(buffer, at, end)
        if at < 0:
            return 0, -1
        if number == wanted and kind == _BYTES:
            begin, stop = first, first + length
    return begin, stop


@Loop
def _number_field(buffer: Any, at: int, end: int, wanted: int) -> int:
    """Value of the last field of a number that is a varint; -1 where there is none, or no plain message."""
    content = -1
    while at < end:
        number, kind, value, _, at = _field(buffer, at, end)
        if at < 0:
            return -1
        if number == wanted and kind == _VARINT:
            content = value
    return content


@Loop
def _messages_in(buffer: Any, at: int, end: int) -> int:
    """By how many permits the broker counts an entry."""
    if end - at >= 6 and buffer[at] == 0x0E and buffer[at + 1] == 0x02:
        size = i32(buffer, at + 2)
        if size < 0 or size > end - at - 6:
            return 1
        at += 6 + size
    if end - at >= 6 and buffer[at] == 0x0E and buffer[at + 1] == 0x01:
        at += 6
    if end - at < 4:
        return 1
    size = i32(buffer, at)
    if size < 0 or size > end - at - 4:
        return 1
    return int(max(1, _number_field(buffer, at + 4, at + 4 + size, _BATCH_FIELD)))


def compile_loop() -> None:
    """Compile `find_messages` now, so that nobody takes the time for a broker's."""
    find_messages(np.frombuffer(b"\0", dtype=np.uint8), np.empty((COLUMNS, 0), dtype=np.int64))


@Loop
def find_messages(buffer: Any, places: Any) -> Any:
    """The messages that begin the buffer, as far as they are whole and the array has room.

    Args:
        buffer: what came (uint8), from a frame's first byte on.
        places: int64, out: a column for each message, rows as `LEDGER` and following.

    Returns:
        How many there are, and the place of the first frame that is cut off, or no message.
    """
    count, at = 0, 0
    while count < places.shape[1] and buffer.size - at >= 8:
        size, command_size = i32(buffer, at), i32(buffer, at + 4)
        if size > buffer.size - at - 4 or command_size < 0 or command_size > size - 4:
            break
        begin, end = at + 8, at + 8 + command_size
        if _number_field(buffer, begin, end, _TYPE_FIELD) != _MESSAGE:
            break
        begin, end = _bytes_field(buffer, begin, end, _MESSAGE)
        begin, end = _bytes_field(buffer, begin, end, 2)
        ledger, entry = _number_field(buffer, begin, end, 1), _number_field(buffer, begin, end, 2)
        if end < 0 or ledger < 0 or entry < 0:
            break
        first, after = at + 8 + command_size, at + 4 + size
        places[LEDGER, count], places[ENTRY, count] = ledger, entry
        places[PLACE, count], places[LENGTH, count] = first, after - first
        places[MESSAGES, count] = _messages_in(buffer, first, after)
        count += 1
        at = after
    return count, at
