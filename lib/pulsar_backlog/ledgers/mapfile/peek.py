"""What begins at a place of a SequenceFile: its first key, its first value, and where the next thing begins.

For looking at a large file without reading it: of a block only the sections with keys and lengths are decompressed, and
of its values no more than the first.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.ledgers.mapfile import kernel
from pulsar_backlog.ledgers.mapfile.blocks import MAX_BLOCK_BYTES, MAX_LENGTH_BYTES, SECTIONS, parts_at
from pulsar_backlog.ledgers.mapfile.codecs import inflate
from pulsar_backlog.ledgers.mapfile.header import ESCAPE_BYTES, Header
from pulsar_backlog.ledgers.mapfile.reading import Window

PEEK_BYTES = 64 * 1024
"""Read at once: usually the keys of a block and the beginning of its values."""

_HEAD = struct.Struct(">iiq")


@dataclass(frozen=True, slots=True)
class Peek:
    """A block or record.

    Attributes:
        key: its first key.
        records: how many it holds.
        end: where the next block or record begins.
        value: bytes of its first value, without their number; None where they were not asked for or cannot be read.
    """

    key: int
    records: int
    end: int
    value: bytes | None


def peek(header: Header, window: Window, position: int, with_value: bool = False) -> Peek | None:
    """What begins at `position`, or None where nothing that can be read does.

    Raises:
        SourceError: the file cannot be read.
    """
    find = _block if header.compression == "BLOCK" else _record
    return find(header, window, position, with_value)


def _block(header: Header, window: Window, position: int, with_value: bool) -> Peek | None:
    if not window.load(position, ESCAPE_BYTES) or window.raw(position, ESCAPE_BYTES) != header.escape:
        return None
    parts = parts_at(window, position)
    if isinstance(parts, DecodeError):
        return None

    def section(name: str, size: int) -> bytes:
        """The first `size` bytes of a section; more of it is read only where what is in memory does not do."""
        start, end = parts.sections[SECTIONS.index(name)]
        for stop in (min(end, max(window.base + window.buffer.size - position, start)), end):
            window.load(position, stop)
            there = min(stop, window.base + window.buffer.size - position)
            data = inflate(header.codec or "", window.view(position + start, max(there - start, 0)), size).data
            if len(data) >= size:
                break
        return data[:size].tobytes()

    raw = section("keys", kernel.KEY_BYTES)
    if len(raw) < kernel.KEY_BYTES:
        return None
    key, end = int.from_bytes(raw, "big", signed=True), position + parts.end
    if not with_value:
        return Peek(key, parts.records, end, None)
    length = np.empty(1, dtype=np.int64)
    lengths = np.frombuffer(section("value_lengths", MAX_LENGTH_BYTES), dtype=np.uint8)
    if kernel.read_vints(lengths, length) < 0 or not kernel.LENGTH_BYTES <= length[0] <= MAX_BLOCK_BYTES:
        return Peek(key, parts.records, end, None)
    return Peek(key, parts.records, end, _value(section("values", int(length[0])), int(length[0])))


def _record(header: Header, window: Window, position: int, with_value: bool) -> Peek | None:
    size = kernel.RECORD_HEAD_BYTES + kernel.KEY_BYTES
    window.load(position, ESCAPE_BYTES + size)
    if window.raw(position, ESCAPE_BYTES) == header.escape:
        position += ESCAPE_BYTES
    head = window.raw(position, size)
    if len(head) < size:
        return None
    length, key_length, key = _HEAD.unpack(head)
    end = position + kernel.RECORD_HEAD_BYTES + length
    if not kernel.KEY_BYTES <= length <= MAX_BLOCK_BYTES or key_length != kernel.KEY_BYTES or end > window.end:
        return None
    if not with_value or not window.load(position, end - position):
        return Peek(key, 1, end, None)
    value = window.view(position + size, end - position - size)
    if header.codec is not None:
        value = inflate(header.codec, value, MAX_BLOCK_BYTES).data.data
    return Peek(key, 1, end, _value(bytes(value), len(value)))


def _value(value: bytes, length: int) -> bytes | None:
    """The bytes of a value that must have `length`, its number included."""
    head = kernel.LENGTH_BYTES
    is_whole = len(value) == length >= head and int.from_bytes(value[:head], "big") == length - head
    return value[head:] if is_whole else None
