"""The compiled kernel: many entries of one buffer into arrays, without a Python object per entry.

It reads plain entries only. Whatever is unusual in any way (an unknown or repeated field, another wire type, a
number outside its type, text that is not UTF-8, encryption keys, a broken length) leaves the entry with status
`LEFT`, and `pulsar_backlog.wire.entry` decides. So the kernel never rejects and never flags, and for a plain entry
both give the same columns; tests hold them against each other on arbitrary bytes.

Layout of entry and metadata: `wire/entry.py` and `proto/pulsar_messages.proto`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pulsar_backlog.wire.entry import CHECKSUM_ABSENT, CHECKSUM_MISMATCH, CHECKSUM_VALID, MAX_METADATA_BYTES
from pulsar_backlog.wire.jit import compiled, copy_bytes, crc32c
from pulsar_backlog.wire.metadata import COMPRESSIONS, END_OF_TIME_MS
from pulsar_backlog.wire.metadata_fields import METADATA_FIELDS, NUMBER_OF, Kind, numbers_of
from pulsar_backlog.wire.primitives import is_utf8, key_value, same_bytes, tag_of, u32, varint, window

PLAIN, DEFERRED = 0, 1

NUMBER_FIELDS = numbers_of(Kind.INT32, Kind.UINT32, Kind.INT64, Kind.TIME, Kind.CODEC, Kind.BOOL)
"""Metadata fields the kernel reads as one number each; the order is that of the rows of `numbers`."""
TEXT_FIELDS = numbers_of(Kind.TEXT)
BYTES_FIELDS = numbers_of(Kind.TEXT, Kind.BYTES)
"""Metadata fields the kernel reads as one run of bytes each; the order is that of the rows of `starts`."""
PROPERTIES = NUMBER_OF["properties"]

LAYOUT_COLUMNS = (
    "broker_timestamp",
    "index",
    "checksum",
    "payload_offset",
    "payload_crc32c",
)
"""Rows of `layout`: numbers about the entry itself. `payload_offset` is from its start."""
BROKER_TIMESTAMP, INDEX, CHECKSUM, PAYLOAD_OFFSET, PAYLOAD_CRC = range(5)

HAS_BROKER_METADATA, HAS_BROKER_TIMESTAMP, HAS_INDEX = 40, 41, 42
"""Bits of `present` beyond those of the metadata fields, which stand at their field number."""

MAX_PROPERTIES = 64
"""An entry with more is left: looking for repeated keys takes quadratic time."""

CHUNK_FIELDS = tuple(NUMBER_OF[name] for name in ("uuid", "num_chunks_from_msg", "chunk_id"))
"""An entry that has one of these is a chunk."""
CHUNK_BITS = sum(1 << number for number in CHUNK_FIELDS)
_REQUIRED_BITS = sum(1 << field.number for field in METADATA_FIELDS if field.required)
_COMPRESSIONS = len(COMPRESSIONS)

_ANY, _INT32, _UINT32, _BOOL, _TIME, _CODEC = range(6)
_RANGES = {Kind.CODEC: _CODEC, Kind.UINT32: _UINT32, Kind.TIME: _TIME, Kind.INT32: _INT32, Kind.BOOL: _BOOL}
_RANGE_OF = {field.number: _RANGES.get(field.kind, _ANY) for field in METADATA_FIELDS}
_SLOT = np.full(64, -1, dtype=np.int64)
_KIND = np.full(64, _ANY, dtype=np.int64)
_IS_BYTES = np.zeros(64, dtype=np.bool_)
_IS_TEXT = np.zeros(64, dtype=np.bool_)
_FIELD = np.array(BYTES_FIELDS, dtype=np.int64)
for _row, _field in enumerate(NUMBER_FIELDS):
    _SLOT[_field], _KIND[_field] = _row, _RANGE_OF[_field]
for _row, _field in enumerate(BYTES_FIELDS):
    _SLOT[_field], _IS_BYTES[_field], _IS_TEXT[_field] = _row, True, _field in TEXT_FIELDS


@compiled
def _number_is_plain(kind: int, value: int) -> bool:
    """Whether a number is one its field's type can hold and this version knows."""
    if kind == _ANY:
        return True
    if kind == _INT32:
        return -(1 << 31) <= value < (1 << 31)
    if kind == _UINT32:
        return 0 <= value < (1 << 32)
    if kind == _TIME:
        return 0 <= value < END_OF_TIME_MS
    return 0 <= value < (2 if kind == _BOOL else _COMPRESSIONS)


@compiled
def _broker_metadata(buffer: Any, position: int, end: int, layout: Any, i: int) -> int:
    """Read part A; its bits of `present`, or -1 when it is not plain."""
    present = 1 << HAS_BROKER_METADATA
    while position < end:
        tag = buffer[position]
        value, position = varint(buffer, position + 1, end)
        if position < 0:
            return -1
        if tag == 0x08 and not present & (1 << HAS_BROKER_TIMESTAMP) and 0 <= value < END_OF_TIME_MS:
            layout[BROKER_TIMESTAMP, i] = value
            present |= 1 << HAS_BROKER_TIMESTAMP
        elif tag == 0x10 and not present & (1 << HAS_INDEX):
            layout[INDEX, i] = value
            present |= 1 << HAS_INDEX
        else:
            return -1
    return present


@compiled
def _repeats(arena: Any, pair_starts: Any, pair_lengths: Any, first: int, last: int) -> bool:
    """Whether the key of pair `last` stands among the pairs from `first` on."""
    key, length = pair_starts[0, last], pair_lengths[0, last]
    for other in range(first, last):
        if pair_lengths[0, other] == length and same_bytes(arena, pair_starts[0, other], key, length):
            return True
    return False


@compiled
def pair(arena: Any, start: int, end: int, pair_starts: Any, pair_lengths: Any, first: int, at: int) -> bool:
    """Read a property into place `at`; False when it is not plain. `first` is the entry's first place."""
    key, key_end, value, value_end = key_value(arena, start, end)
    if key < 0 or at - first >= MAX_PROPERTIES:
        return False
    pair_starts[0, at], pair_lengths[0, at] = key, key_end - key
    pair_starts[1, at], pair_lengths[1, at] = value, value_end - value
    if not is_utf8(arena, key, key_end) or not is_utf8(arena, value, value_end):
        return False
    return not _repeats(arena, pair_starts, pair_lengths, first, at)


@compiled
def _metadata(
    arena: Any,
    position: int,
    end: int,
    numbers: Any,
    starts: Any,
    lengths: Any,
    pair_starts: Any,
    pair_lengths: Any,
    pairs: int,
    i: int,
) -> tuple[int, int]:
    """Read part C into row `i`; its bits of `present` (-1 when it is not plain), and the next free pair."""
    present = 0
    first = pairs
    while position < end:
        number, wire_type, position = tag_of(arena, position, end)
        if position < 0:
            return -1, first
        slot = _SLOT[number]
        bit = 1 << number
        if wire_type == 0 and slot >= 0 and not _IS_BYTES[number] and not present & bit:
            value, position = varint(arena, position, end)
            if position < 0 or not _number_is_plain(_KIND[number], value):
                return -1, first
            numbers[slot, i] = value
        elif wire_type == 2 and number == PROPERTIES:
            start, position = window(arena, position, end)
            if position < 0 or not pair(arena, start, position, pair_starts, pair_lengths, first, pairs):
                return -1, first
            pairs += 1
        elif wire_type == 2 and slot >= 0 and _IS_BYTES[number] and not present & bit:
            start, position = window(arena, position, end)
            if position < 0 or (_IS_TEXT[number] and not is_utf8(arena, start, position)):
                return -1, first
            starts[slot, i], lengths[slot, i] = start, position - start
        else:
            return -1, first
        present |= bit
    return present if (present & _REQUIRED_BITS) == _REQUIRED_BITS else -1, pairs


@compiled
def _envelope(buffer: Any, start: int, end: int, layout: Any, states: Any, i: int) -> tuple[int, int, int]:
    """Read parts A and B into row `i`: bits of `present` (-1: not plain), where the CRC begins, where part C ends."""
    position = start
    present = 0
    if end - position >= 6 and buffer[position] == 0x0E and buffer[position + 1] == 0x02:
        length = u32(buffer, position + 2)
        position += 6
        if length > min(end - position, MAX_METADATA_BYTES):
            return -1, 0, 0
        present = _broker_metadata(buffer, position, position + length, layout, i)
        if present < 0:
            return -1, 0, 0
        position += length
    states[i] = CHECKSUM_ABSENT
    if end - position >= 6 and buffer[position] == 0x0E and buffer[position + 1] == 0x01:
        layout[CHECKSUM, i] = u32(buffer, position + 2)
        position += 6
        states[i] = CHECKSUM_VALID
    if end - position < 4 or u32(buffer, position) > min(end - position - 4, MAX_METADATA_BYTES):
        return -1, 0, 0
    payload = position + 4 + u32(buffer, position)
    layout[PAYLOAD_OFFSET, i] = payload - start
    return present, position, payload


@compiled
def _number_texts(
    arena: Any, starts: Any, lengths: Any, i: int, bits: int, repeated: Any, codes: Any, firsts: Any
) -> None:
    """Number the texts of row `i` that many rows share; a new one gets the next number while `firsts` has room."""
    for k in range(repeated.shape[0]):
        slot = repeated[k]
        if not bits >> _FIELD[slot] & 1:
            continue
        code = 0
        while code < firsts.shape[1] and firsts[k, code] >= 0:
            first = firsts[k, code]
            same = lengths[slot, first] == lengths[slot, i]
            if same and same_bytes(arena, starts[slot, first], starts[slot, i], lengths[slot, i]):
                break
            code += 1
        if code < firsts.shape[1] and firsts[k, code] < 0:
            firsts[k, code] = i
        codes[k, i] = code


@compiled
def read_entries(
    buffer: Any, offsets: Any, sizes: Any, row: int, used: int, pairs: int, status: Any, present: Any, layout: Any,
    states: Any, numbers: Any, starts: Any, lengths: Any, counts: Any, arena: Any, pair_starts: Any, pair_lengths: Any,
    repeated: Any, codes: Any, firsts: Any,
) -> tuple[int, int, int]:  # fmt: skip
    """Read the entries at `buffer[offsets[k]:offsets[k] + sizes[k]]` into rows of the arrays, from `row` on.

    Metadata is copied to `arena` while it is in the processor's cache; whoever reads text later reads it there,
    so one set of arrays gathers the entries of many buffers. Stops where rows, arena or pairs have no room left
    for another entry.

    Args:
        buffer: uint8; every entry lies inside it (the caller checks).
        offsets: int64, first byte of each entry.
        sizes: int64, bytes of each entry.
        row: first free row.
        used: first free byte of `arena`.
        pairs: first free column of `pair_starts`.
        status: int8, set to PLAIN or LEFT; the other arrays mean nothing where it is LEFT.
        present: int64, bit n set where metadata field n is present, and the `HAS_` bits.
        layout: int64 of `LAYOUT_COLUMNS` rows.
        states: int8, checksum state.
        numbers: int64 of `NUMBER_FIELDS` rows.
        starts: int64 of `BYTES_FIELDS` rows, first byte in `arena`.
        lengths: int64 of `BYTES_FIELDS` rows.
        counts: int64, number of properties.
        arena: uint8.
        pair_starts: int64 of 2 rows (keys, values), one column a property, in order; first byte in `arena`.
        pair_lengths: int64 of 2 rows.
        repeated: int64, rows of `starts` whose texts many entries share.
        codes: int32 of as many rows: the number of each text, which means nothing where there is none; the number of
            columns of `firsts` where there are more different ones.
        firsts: int64 of as many rows, -1 before: where each number was met first.

    Returns:
        The free row, byte and column after what was read.
    """
    for k in range(min(offsets.shape[0], status.shape[0] - row)):
        i = row + k
        end = offsets[k] + sizes[k]
        status[i], present[i], counts[i] = DEFERRED, 0, 0
        envelope, checked, payload = _envelope(buffer, offsets[k], end, layout, states, i)
        if envelope < 0:
            continue
        length = payload - checked - 4
        if length > arena.shape[0] - used or pairs + MAX_PROPERTIES > pair_starts.shape[1]:
            return i, used, pairs
        copy_bytes(buffer, checked + 4, arena, used, length)
        bits, next_pair = _metadata(
            arena, used, used + length, numbers, starts, lengths, pair_starts, pair_lengths, pairs, i
        )
        if bits < 0:
            continue
        if states[i] == CHECKSUM_VALID and crc32c(buffer, checked, end) != layout[CHECKSUM, i]:
            states[i] = CHECKSUM_MISMATCH
        if bits & CHUNK_BITS:
            layout[PAYLOAD_CRC, i] = crc32c(buffer, payload, end)
        _number_texts(arena, starts, lengths, i, bits, repeated, codes, firsts)
        status[i], present[i], counts[i] = PLAIN, envelope | bits, next_pair - pairs
        used += length
        pairs = next_pair
    return min(row + offsets.shape[0], status.shape[0]), used, pairs


@compiled
def copy_runs(arena: Any, starts: Any, ends: Any, target: Any) -> None:
    """Copy runs of `arena` one after the other into `target`; `ends[i]` is where run `i` ends there."""
    begin = 0
    for i in range(starts.shape[0]):
        copy_bytes(arena, starts[i], target, begin, ends[i] - begin)
        begin = ends[i]
