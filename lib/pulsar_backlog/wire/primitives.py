"""Compiled readers of protobuf's smallest parts: varint, length-delimited window, tag, UTF-8, KeyValue.

Each says with a position or end of -1 that the bytes are not plain (see `wire/kernel.py`); none reads outside
`buffer[position:end]`, and no varint is longer than 10 bytes.
Source: the protobuf encoding guide, "Base 128 Varints" and "Message Structure".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pulsar_backlog.wire.jit import compiled, load_u64

_NOT_ASCII = np.uint64(0x8080808080808080)
"""The bits that are set in no byte of an ASCII text."""


@compiled
def varint(buffer: Any, position: int, end: int) -> tuple[int, int]:
    """A varint's 64 bits, read as signed, and the position after it; position -1 when it is not plain."""
    value = np.uint64(0)
    shift = np.uint64(0)
    while position < end and shift < 64:
        byte = np.uint64(buffer[position])
        position += 1
        if shift == 63 and byte > 1:
            return 0, -1
        value |= (byte & np.uint64(0x7F)) << shift
        if byte < 0x80:
            return np.int64(value), position
        shift += np.uint64(7)
    return 0, -1


@compiled
def window(buffer: Any, position: int, end: int) -> tuple[int, int]:
    """Start and end of a length-delimited field; end -1 when it does not fit."""
    length, position = varint(buffer, position, end)
    if position < 0 or length < 0 or length > end - position:
        return 0, -1
    return position, position + length


@compiled
def _continuations(lead: int) -> tuple[int, int, int]:
    """How many bytes follow a UTF-8 lead byte, and the bounds of the first of them; -1 when it leads nothing."""
    if lead < 0xC2 or lead > 0xF4:
        return -1, 0, 0
    if lead < 0xE0:
        return 1, 0x80, 0xBF
    if lead < 0xF0:
        return 2, 0xA0 if lead == 0xE0 else 0x80, 0x9F if lead == 0xED else 0xBF
    return 3, 0x90 if lead == 0xF0 else 0x80, 0x8F if lead == 0xF4 else 0xBF


@compiled
def is_utf8(buffer: Any, start: int, end: int) -> bool:
    """Whether bytes are well-formed UTF-8 (RFC 3629: shortest form, no surrogates)."""
    position = start
    while position < end:
        if position + 8 <= end and load_u64(buffer, position) & _NOT_ASCII == 0:
            position += 8
            continue
        lead = np.int64(buffer[position])
        position += 1
        if lead < 0x80:
            continue
        count, low, high = _continuations(lead)
        if count < 0 or position + count > end:
            return False
        for _ in range(count):
            if buffer[position] < low or buffer[position] > high:
                return False
            low, high = 0x80, 0xBF
            position += 1
    return True


@compiled
def key_value(buffer: Any, start: int, end: int) -> tuple[int, int, int, int]:
    """Key and value windows of a plain KeyValue (key first, then value, nothing else); -1 when it is not plain."""
    if start >= end or buffer[start] != 0x0A:
        return -1, 0, 0, 0
    key, key_end = window(buffer, start + 1, end)
    if key_end < 0 or key_end >= end or buffer[key_end] != 0x12:
        return -1, 0, 0, 0
    value, value_end = window(buffer, key_end + 1, end)
    if value_end != end:
        return -1, 0, 0, 0
    return key, key_end, value, value_end


@compiled
def tag_of(buffer: Any, position: int, end: int) -> tuple[int, int, int]:
    """Field number, wire type and the position after a tag of one or two bytes; position -1 when it is not plain."""
    value = np.int64(buffer[position])
    position += 1
    if value >= 0x80:
        if position >= end or buffer[position] >= 0x80:
            return 0, 0, -1
        value = (value & 0x7F) | (np.int64(buffer[position]) << 7)
        position += 1
    number = value >> 3
    if number == 0 or number >= 40:
        return 0, 0, -1
    return number, value & 7, position


@compiled
def u32(buffer: Any, position: int) -> int:
    """The unsigned number in the four bytes at `position`, big-endian."""
    return (
        (np.int64(buffer[position]) << 24)
        | (np.int64(buffer[position + 1]) << 16)
        | (np.int64(buffer[position + 2]) << 8)
        | np.int64(buffer[position + 3])
    )


@compiled
def same_bytes(buffer: Any, a: int, b: int, length: int) -> bool:
    """Whether the `length` bytes at `a` and at `b` are the same."""
    done = 0
    while done + 8 <= length:
        if load_u64(buffer, a + done) != load_u64(buffer, b + done):
            return False
        done += 8
    while done < length:
        if buffer[a + done] != buffer[b + done]:
            return False
        done += 1
    return True
