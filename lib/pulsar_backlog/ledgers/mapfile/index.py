"""The index of a MapFile: which entry ids it names, and whether they are where it says.

A SequenceFile in blocks whose keys are entry ids (the first is -1) and whose values are `i64`: where in `data` the
record with that key begins, or the block that holds it. A broker takes an index that ends early for a short one.

Source: https://github.com/apache/hadoop/blob/0f7af84b0059923753a0ced329efb4ebeba691f3/hadoop-common-project/hadoop-common/src/main/java/org/apache/hadoop/io/MapFile.java
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.ledgers.mapfile import kernel
from pulsar_backlog.ledgers.mapfile.blocks import SECTIONS, Parts, read_parts
from pulsar_backlog.ledgers.mapfile.codecs import inflate, is_known
from pulsar_backlog.ledgers.mapfile.header import (
    DEFAULT_CODEC,
    ESCAPE_BYTES,
    LONG_WRITABLE,
    SYNC_ESCAPE,
    Header,
    decode_header,
)
from pulsar_backlog.ledgers.mapfile.peek import peek
from pulsar_backlog.ledgers.mapfile.reading import Window
from pulsar_backlog.wire.arrays import Int64s

MAX_INDEX_BYTES = 16 * 1024 * 1024
"""Largest index that is read: several million pairs, or as many blocks of 1 MB."""
USUAL_INTERVAL = 128
"""Records between two pairs, unless `io.map.index.interval` says otherwise."""
PAIRS_OF_BLOCK = 1_000_000 // (2 * kernel.KEY_BYTES)
"""As many as Hadoop gathers for a block of an index."""
MAX_STEPS = USUAL_INTERVAL
"""Blocks looked at behind the last pair: each holds a record at least."""
SAMPLES = 3
"""Pairs that are held against the data: the first, the last and those between."""


@dataclass(frozen=True)
class MapIndex:
    """An index in the format's terms.

    Attributes:
        keys: entry ids, as stored.
        positions: places in `data`, as stored.
        is_cut: whether it ends inside a block, so that a broker does without the rest.
    """

    keys: Int64s
    positions: Int64s
    is_cut: bool


def decode_index(data: bytes) -> MapIndex:
    """Read an index.

    Raises:
        DecodeError: it is none, or is damaged other than by ending early.
    """
    header = decode_header(data, LONG_WRITABLE)
    if header.compression != "BLOCK" or not is_known(header.codec or ""):
        found = f"{header.compression} {(header.codec or 'no codec')[:200]!a}"
        raise _damaged(header.length, "header.codec", "blocks of a known codec", found)
    keys, positions = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    view, at, is_cut = memoryview(data), header.length, False
    while at < len(data) and not is_cut:
        if len(data) - at < ESCAPE_BYTES:
            is_cut = True
            break
        if data[at : at + ESCAPE_BYTES] != header.escape:
            raise _damaged(at, "index.sync", header.escape.hex(), data[at : at + ESCAPE_BYTES].hex())
        try:
            parts = read_parts(view[at:])
        except DecodeError as error:
            if error.code != "sequence_too_short":
                raise _damaged(at + error.offset, f"index.{error.field}", error.expected, error.found) from error
            is_cut = True
            break
        is_cut = at + parts.end > len(data)
        if not is_cut:
            keys.append(_numbers(header, parts, view[at:], at, "keys"))
            positions.append(_numbers(header, parts, view[at:], at, "values"))
        at += parts.end
    return MapIndex(np.concatenate(keys), np.concatenate(positions), is_cut)


def _numbers(header: Header, parts: Parts, block: memoryview, at: int, name: str) -> Int64s:
    """A section of i64."""
    start, end = parts.sections[SECTIONS.index(name)]
    size = kernel.KEY_BYTES * parts.records
    inflated = inflate(header.codec or "", block[start:end], size)
    if inflated.fault or inflated.data.size != size:
        found = inflated.fault or f"{inflated.data.size} bytes"
        raise _damaged(at + start, f"index.{name}", f"a section of {size} bytes", found)
    numbers = np.empty(parts.records, dtype=np.int64)
    kernel.read_keys(inflated.data, numbers)
    return numbers


def encode_index(pairs: Sequence[tuple[int, int]], sync: bytes) -> bytes:
    """An index of pairs of entry id and place in `data`; `sync` is the file's own marker, 16 bytes."""
    classes = b"".join(_text(name) for name in (LONG_WRITABLE, LONG_WRITABLE))
    out = [b"SEQ\x06", classes, b"\x01\x01", _text(DEFAULT_CODEC), bytes(4), sync]
    for first in range(0, len(pairs), PAIRS_OF_BLOCK):
        some = pairs[first : first + PAIRS_OF_BLOCK]
        lengths = bytes([kernel.KEY_BYTES]) * len(some)
        numbers = (b"".join(pair[at].to_bytes(kernel.KEY_BYTES, "big", signed=True) for pair in some) for at in (0, 1))
        keys, values = numbers
        out += [SYNC_ESCAPE, sync, _vint(len(some))]
        for section in (lengths, keys, lengths, values):
            packed = zlib.compress(section)
            out += [_vint(len(packed)), packed]
    return b"".join(out)


def _text(words: str) -> bytes:
    return bytes([len(words)]) + words.encode()  # a vint of one byte, for it is shorter than 128


def _vint(value: int) -> bytes:
    if value <= 127:
        return bytes([value])
    size = (value.bit_length() + 7) // 8
    return bytes([256 - 112 - size]) + value.to_bytes(size, "big")


def contradictions(index: MapIndex, header: Header, window: Window) -> Iterator[str]:
    """Where the index and the data that `window` looks at do not fit together; the first one will do.

    Every pair is held against its neighbours, and `SAMPLES` of them against the data.
    """
    keys, positions = index.keys, index.positions
    if not len(keys):
        return
    if (int(keys[0]), int(positions[0])) != (-1, header.length):
        yield f"it begins with key {keys[0]} at {positions[0]}, the data with key -1 at {header.length}"
    for what, values in (("keys", keys), ("places", positions)):
        if (falls := np.flatnonzero(np.diff(values) <= 0)).size:
            yield f"its {what} do not rise after pair {falls[0]}: {values[falls[0]]}, {values[falls[0] + 1]}"
    if positions[-1] >= window.end:
        yield f"it names byte {positions[-1]}, the data has {window.end}"
        return
    for number in sorted({round(at) for at in np.linspace(0, len(keys) - 1, SAMPLES)}):
        position = int(positions[number])
        record = peek(header, window, position) if position >= header.length else None
        if record is None or not record.key <= keys[number] < record.key + record.records:
            there = f"{record.records} records from key {record.key} on begin" if record else "no record begins"
            yield f"it names key {keys[number]} at byte {position}, where {there}"


def is_short(index: MapIndex, header: Header, window: Window, expected_entries: int | None) -> bool:
    """Whether records lie behind its last pair that it should name. It must not contradict the data.

    Of pairs that lie wider apart than usual the interval is taken to be wider.
    """
    if index.is_cut or not len(index.keys):
        return True
    interval = max(USUAL_INTERVAL, int(np.diff(index.keys).min(initial=2**62)) if len(index.keys) > 1 else 0)
    last, position = int(index.keys[-1]), int(index.positions[-1])
    if header.compression != "BLOCK":
        return expected_entries is not None and expected_entries - 1 - last >= interval
    for step in range(MAX_STEPS):
        record = peek(header, window, position)
        if record is None:
            return False
        if step and record.key + record.records - 1 - last >= interval:
            return True
        position = record.end
    return False


def _damaged(at: int, field: str, expected: str, found: str) -> DecodeError:
    return DecodeError("map_index_damaged", offset=at, field=field, expected=expected, found=found)
