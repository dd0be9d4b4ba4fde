"""One block of a SequenceFile: where its sections lie, and the records in them.

```
block   [ FFFFFFFF ][ sync, 16 bytes ][ records: vint ][ section ][ section ][ section ][ section ]
section [ length: vint ][ compressed: key lengths | keys | value lengths | values ]
```

Key lengths and value lengths are a vint for each record, keys are i64, values `[ n i32 ][ n bytes ]`; a value's length
counts its `n`. A section that is damaged costs what lies behind the damage: keys are made up for by the record's place,
value lengths by the numbers in the values. Behind damage in the values a codec may copy whole other entries into the
place of one, each with its own checksum. So nothing of a block stands behind the first value that is not proved.

Source: https://github.com/apache/hadoop/blob/02c6d7d36b48a4c1d80dadec25e70b15eecab63b/hadoop-common-project/hadoop-common/src/main/java/org/apache/hadoop/io/SequenceFile.java
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pulsar_backlog.errors import CONTEXT_BYTES, DecodeError
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.mapfile import kernel
from pulsar_backlog.ledgers.mapfile.codecs import CUT_OFF, inflate, is_checked
from pulsar_backlog.ledgers.mapfile.header import ESCAPE_BYTES, read_vint
from pulsar_backlog.ledgers.mapfile.kernel import MISMATCH, VALID
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

MAX_MISMATCHES = 16
"""Entries of a block that fail their own checksum, without another fault, as producers may have sent them. More are
damage of a block whose codec has no checksum, where others pass theirs: it repeats what it copied."""

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
        keys: as stored, of all of them and those that are lost; None where the keys are damaged.
        buffer: values, decompressed.
        starts: first byte of each entry in `buffer`.
        lengths: bytes of each entry, or -1 where it cannot be read.
        inner: first byte of each entry in what its own block or record inflates to.
        faults: what is wrong.
        lost: how many more records there are behind these, which cannot be read or of which nothing proves the bytes.
        are_keys_checked: whether a checksum tells that the keys are those that were written.
        has_valid: whether an entry of these, or of blocks before, passed its checksum, as far as that was looked at.
    """

    keys: Int64s | None
    buffer: Bytes
    starts: Int64s
    lengths: Int64s
    inner: Int64s
    faults: tuple[Fault, ...] = ()
    lost: int = 0
    are_keys_checked: bool = False
    has_valid: bool = False


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


def open_block(
    codec: str, parts: Parts, block: memoryview, place: int, *, has_metadata: bool = False, has_valid: bool = False
) -> Records:
    """The records of a block that stands at `place` of its file; `block` may end before it does.

    Memory: what the block inflates to, `MAX_BLOCK_BYTES` at most, and 40 bytes for each record.

    Args:
        codec: Java class of the codec.
        parts: of the block.
        block: its bytes.
        place: of its first byte.
        has_metadata: whether its first record is no entry, but the ledger metadata.
        has_valid: whether entries of blocks before passed their checksum.
    """
    return _Opener(codec, parts, block, place, has_valid).records(int(has_metadata))


class _Opener:
    """A block on its way to records, and what is wrong with it."""

    def __init__(self, codec: str, parts: Parts, block: memoryview, place: int, has_valid: bool) -> None:
        self._codec, self._parts, self._block, self._place = codec, parts, block, place
        self._faults: list[Fault] = []
        self._doubtful: set[str] = set()
        self._has_valid = has_valid

    def records(self, metadata: int) -> Records:
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
        stands = self._agreeing(values, starts, lengths)
        stands = self._standing(values, starts[:stands], lengths[:stands], stands < readable, min(metadata, stands))
        starts, lengths = starts[:stands] + kernel.LENGTH_BYTES, lengths[:stands] - kernel.LENGTH_BYTES
        are_keys_checked = keys is not None and is_checked(self._codec)
        lost = self._parts.records - stands
        return Records(
            keys, values, starts, lengths, starts, tuple(self._faults), lost, are_keys_checked, self._has_valid
        )

    def _keys(self) -> Int64s | None:
        count = self._parts.records
        key_lengths = self._inflated("key_lengths", count, is_exact=True)
        odd = np.flatnonzero(key_lengths != kernel.KEY_BYTES)
        if odd.size:
            found = f"{odd.size} others, the first {int(key_lengths[odd[0]])} at record {int(odd[0])}"
            self._fault("block_bad_key", "key_lengths", f"{kernel.KEY_BYTES} for each record", found)
        raw = self._inflated("keys", kernel.KEY_BYTES * count, is_exact=True)
        if raw.size < kernel.KEY_BYTES * count or "keys" in self._doubtful:
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

    def _standing(self, values: Bytes, starts: Int64s, lengths: Int64s, is_doubtful: bool, first: int) -> int:
        """How many records, from the first on, are surely those that were written; entries from `first` on."""
        is_doubtful |= "values" in self._doubtful
        if is_checked(self._codec) and not is_doubtful:
            return len(starts)
        states = _states(values, starts[first:], lengths[first:])
        self._has_valid |= bool((states == VALID).any())
        is_damaged = int((states == MISMATCH).sum()) > MAX_MISMATCHES and self._has_valid
        if not is_doubtful and not self._faults and not is_damaged:
            return len(starts)
        return first + _proved(values, starts[first:], lengths[first:], states)

    def _agreeing(self, values: Bytes, starts: Int64s, lengths: Int64s) -> int:
        """How many values, from the first on, say themselves how long they are."""
        counts = np.empty(starts.size, dtype=np.int64)
        kernel.read_counts(values, starts, counts)
        odd = np.flatnonzero(counts != lengths - kernel.LENGTH_BYTES)
        if not odd.size:
            return len(starts)
        first = int(odd[0])
        expected = f"{int(lengths[first]) - kernel.LENGTH_BYTES} bytes in record {first}"
        found = f"{int(counts[first])}, and {odd.size - 1} more records that differ"
        self._fault("record_bad_length", "values", expected, found)
        return first

    def _inflated(self, name: str, limit: int, is_exact: bool = False) -> Bytes:
        """A section decompressed, with a fault where it is not whole, or has not the `limit` bytes it must have."""
        start, end = self._parts.sections[SECTIONS.index(name)]
        inflated = inflate(self._codec, self._block[start:end], limit)
        fault = inflated.fault
        if end > len(self._block):
            fault = f"it is cut off after {max(len(self._block) - start, 0)} bytes"
        if not fault and is_exact and inflated.data.size != limit:
            fault = f"{inflated.data.size} bytes"
        if fault and not (end > len(self._block) and inflated.fault in ("", CUT_OFF)):
            self._doubtful.add(name)
        if fault:
            size = f" of {limit} bytes" if is_exact else ""
            self._fault("section_damaged", name, f"a section{size}", fault)
        return inflated.data

    def _fault(self, code: str, name: str, expected: str, found: str) -> None:
        at = self._parts.sections[SECTIONS.index(name)][0]
        context = bytes(self._block[at : at + CONTEXT_BYTES])
        place, length = self._place, self._parts.end
        self._faults.append(Fault(code, place, place + at, length, f"block.{name}", expected, found, context))


def _states(values: Bytes, starts: Int64s, lengths: Int64s) -> Int64s:
    """Whether the entry in each value passes its own checksum."""
    from pulsar_backlog.ledgers.mapfile.own_checksums import check_entries  # noqa: PLC0415 - loads numba

    states = np.empty(len(starts), dtype=np.int64)
    check_entries(values, starts + kernel.LENGTH_BYTES, lengths - kernel.LENGTH_BYTES, states)
    return states


def _proved(values: Bytes, starts: Int64s, lengths: Int64s, states: Int64s) -> int:
    """How many entries, from the first on, are whole by their own checksums, and not another one once more."""
    stop = int(np.argmin(np.append(states == VALID, False)))
    seen: set[int] = set()
    for number, (start, length) in enumerate(zip(starts[:stop].tolist(), lengths[:stop].tolist(), strict=True)):
        content = hash(values[start : start + length].tobytes())
        if content in seen:
            return number
        seen.add(content)
    return stop


def _wrong(block: memoryview, code: str, at: int, field: str, expected: str, found: str) -> DecodeError:
    context = bytes(block[at : at + CONTEXT_BYTES])
    return DecodeError(code, offset=at, field=field, expected=expected, found=found, context=context)
