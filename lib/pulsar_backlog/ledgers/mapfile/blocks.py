"""One block of a SequenceFile: where its sections lie, and the records in them.

```
block   [ FFFFFFFF ][ sync, 16 bytes ][ records: vint ][ section ][ section ][ section ][ section ]
section [ length: vint ][ compressed: key lengths | keys | value lengths | values ]
```

Key lengths and value lengths are a vint for each record, keys are i64, values `[ n i32 ][ n bytes ]`; a value's length
counts its `n`. A section that is damaged costs what lies behind the damage: keys are made up for by the record's place,
value lengths by the numbers in the values.

Source: https://github.com/apache/hadoop/blob/02c6d7d36b48a4c1d80dadec25e70b15eecab63b/hadoop-common-project/hadoop-common/src/main/java/org/apache/hadoop/io/SequenceFile.java
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pulsar_backlog.errors import CONTEXT_BYTES, DecodeError
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.mapfile import kernel
from pulsar_backlog.ledgers.mapfile.codecs import inflate
from pulsar_backlog.ledgers.mapfile.header import ESCAPE_BYTES, read_vint
from pulsar_backlog.ledgers.mapfile.reading import Window
from pulsar_backlog.wire.arrays import Bytes, Int64s

MAX_BLOCK_BYTES = 256 * 1024 * 1024
"""Most bytes of a block that are looked at, stored and decompressed. Hadoop closes one when it holds 1,000,000, so only
a larger entry makes a larger one; brokers take entries of 5 MiB unless told otherwise."""
MAX_RECORDS = 1 << 22
"""Most records of a block: at 1,000,000 bytes it holds 83,334 at most. They take 200 MiB besides the block."""
VINT_BYTES = 9
"""Longest vint."""
MAX_LENGTH_BYTES = 5
"""Longest vint of a length that a value may have."""

SECTIONS = ("key_lengths", "keys", "value_lengths", "values")


@dataclass(frozen=True, slots=True)
class Parts:
    """Where the parts of a block lie.

    Attributes:
        records: how many it says it holds.
        sections: first byte of each of `SECTIONS` and the byte after its last, counted from the block's start.
    """

    records: int
    sections: tuple[tuple[int, int], ...]

    @property
    def end(self) -> int:
        """Where the block ends, counted from its start, by what it says."""
        return self.sections[-1][1]


@dataclass(frozen=True, slots=True)
class Records:
    """Records in order.

    Attributes:
        keys: as stored, of all of them; None where they cannot be read.
        buffer: values, decompressed.
        starts: first byte of each entry in `buffer`.
        lengths: bytes of each entry, or -1 where it cannot be read.
        inner: first byte of each entry in what its own block or record inflates to.
        faults: what is wrong.
    """

    keys: Int64s | None
    buffer: Bytes
    starts: Int64s
    lengths: Int64s
    inner: Int64s
    faults: tuple[Fault, ...] = ()


def read_parts(block: memoryview) -> Parts:
    """What the lengths of a block say; `block` may end inside its last section.

    Raises:
        DecodeError: a number that cannot be; `sequence_too_short` when `block` ends before the number at its offset.
    """
    records, at = read_vint(block, ESCAPE_BYTES, "block.records")
    if not 0 < records <= MAX_RECORDS:
        expected = f"1 to {MAX_RECORDS} records"
        raise _wrong(block, "block_bad_count", ESCAPE_BYTES, "block.records", expected, str(records))
    sections: list[tuple[int, int]] = []
    for name in SECTIONS:
        length, start = read_vint(block, at, f"block.{name}")
        if not 0 <= length <= MAX_BLOCK_BYTES - start:
            expected = f"a length of 0 to {MAX_BLOCK_BYTES - start}"
            raise _wrong(block, "block_bad_length", at, f"block.{name}", expected, str(length))
        at = start + length
        sections.append((start, at))
    return Parts(records, tuple(sections))


def parts_at(window: Window, position: int) -> Parts | DecodeError:
    """The parts of the block at `position`, read as far as its lengths take; or what is wrong with one of them."""
    needed = ESCAPE_BYTES + VINT_BYTES
    while True:
        window.load(position, needed)
        try:
            return read_parts(window.view(position, window.base + window.buffer.size - position))
        except DecodeError as error:
            more = error.offset + VINT_BYTES
            if error.code != "sequence_too_short" or more <= needed:
                return error
            needed = more


def open_block(codec: str, parts: Parts, block: memoryview, place: int) -> Records:
    """The records of a block that stands at `place` of its file; `block` may end before it does.

    Memory: what the block inflates to, `MAX_BLOCK_BYTES` at most, and 40 bytes for each record.
    """
    return _Opener(codec, parts, block, place).records()


class _Opener:
    """A block on its way to records, and what is wrong with it."""

    def __init__(self, codec: str, parts: Parts, block: memoryview, place: int) -> None:
        self._codec, self._parts, self._block, self._place = codec, parts, block, place
        self._faults: list[Fault] = []

    def records(self) -> Records:
        keys = self._keys()
        lengths = self._value_lengths()
        if lengths is None:
            values = self._inflated("values", MAX_BLOCK_BYTES)
            lengths = np.empty(self._parts.records, dtype=np.int64)
            lengths = lengths[: int(kernel.walk_values(values, lengths))]
        else:
            total = int(lengths.sum())
            values = self._inflated("values", total, is_exact=True)
        ends = np.cumsum(lengths)
        readable = int(np.searchsorted(ends, values.size, side="right"))
        starts, lengths = (ends - lengths)[:readable], lengths[:readable]
        self._check_counts(values, starts, lengths)
        if lost := self._parts.records - readable:
            expected = f"{self._parts.records} records"
            self._fault("block_records_lost", "values", expected, f"{readable} that can be read")
            starts = np.append(starts, np.zeros(lost, dtype=np.int64))
            lengths = np.append(lengths, np.full(lost, kernel.LENGTH_BYTES - 1))
        head = kernel.LENGTH_BYTES
        return Records(keys, values, starts + head, lengths - head, starts + head, tuple(self._faults))

    def _keys(self) -> Int64s | None:
        count = self._parts.records
        key_lengths = self._inflated("key_lengths", count, is_exact=True)
        odd = np.flatnonzero(key_lengths != kernel.KEY_BYTES)
        if odd.size:
            found = f"{odd.size} others, the first {int(key_lengths[odd[0]])} at record {int(odd[0])}"
            self._fault("block_bad_key", "key_lengths", f"{kernel.KEY_BYTES} for each record", found)
        raw = self._inflated("keys", kernel.KEY_BYTES * count, is_exact=True)
        if raw.size < kernel.KEY_BYTES * count:
            return None
        keys = np.empty(count, dtype=np.int64)
        kernel.read_keys(raw, keys)
        return keys

    def _value_lengths(self) -> Int64s | None:
        """The lengths, or None where any of them may be wrong."""
        before = len(self._faults)
        raw = self._inflated("value_lengths", MAX_LENGTH_BYTES * self._parts.records)
        lengths = np.empty(self._parts.records, dtype=np.int64)
        end = int(kernel.read_vints(raw, lengths))
        if end != raw.size:
            found = f"{raw.size} bytes, and they end at {end}" if end >= 0 else f"{raw.size} bytes"
            self._fault("section_damaged", "value_lengths", f"{self._parts.records} vints", found)
        if len(self._faults) > before:
            return None
        if lengths.min() < kernel.LENGTH_BYTES or lengths.max() > MAX_BLOCK_BYTES or lengths.sum() > MAX_BLOCK_BYTES:
            expected = f"{kernel.LENGTH_BYTES} bytes or more each, {MAX_BLOCK_BYTES} at most together"
            found = f"{int(lengths.min())} to {int(lengths.max())}, or more together"
            self._fault("block_bad_length", "value_lengths", expected, found)
            return None
        return lengths

    def _check_counts(self, values: Bytes, starts: Int64s, lengths: Int64s) -> None:
        """Each value says once more how long it is."""
        counts = np.empty(starts.size, dtype=np.int64)
        kernel.read_counts(values, starts, counts)
        odd = np.flatnonzero(counts != lengths - kernel.LENGTH_BYTES)
        if odd.size:
            first = int(odd[0])
            expected = f"{int(lengths[first]) - kernel.LENGTH_BYTES} bytes in record {first}"
            found = f"{int(counts[first])}, and {odd.size - 1} more records that differ"
            self._fault("record_bad_length", "values", expected, found)

    def _inflated(self, name: str, limit: int, is_exact: bool = False) -> Bytes:
        """A section decompressed, with a fault where it is not whole, or has not the `limit` bytes it must have."""
        start, end = self._parts.sections[SECTIONS.index(name)]
        inflated = inflate(self._codec, self._block[start:end], limit)
        fault = inflated.fault
        if end > len(self._block):
            fault = f"it is cut off after {max(len(self._block) - start, 0)} bytes"
        if not fault and is_exact and inflated.data.size != limit:
            fault = f"{inflated.data.size} bytes"
        if fault:
            size = f" of {limit} bytes" if is_exact else ""
            self._fault("section_damaged", name, f"a section{size}", fault)
        return inflated.data

    def _fault(self, code: str, name: str, expected: str, found: str) -> None:
        at = self._parts.sections[SECTIONS.index(name)][0]
        context = bytes(self._block[at : at + CONTEXT_BYTES])
        place, length = self._place, self._parts.end
        self._faults.append(Fault(code, place, place + at, length, f"block.{name}", expected, found, context))


def _wrong(block: memoryview, code: str, at: int, field: str, expected: str, found: str) -> DecodeError:
    context = bytes(block[at : at + CONTEXT_BYTES])
    return DecodeError(code, offset=at, field=field, expected=expected, found=found, context=context)
