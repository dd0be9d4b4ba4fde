"""Entries of a buffer -> Arrow columns, through the kernel, with the protobuf path for what it leaves."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire import kernel
from pulsar_backlog.wire.arrays import Bytes, Int64s
from pulsar_backlog.wire.entry import CHECKSUM_STATES, Entry, decode_entry, read_layout
from pulsar_backlog.wire.metadata import COMPRESSIONS
from pulsar_backlog.wire.metadata_fields import METADATA_FIELDS, NUMBER_OF, Kind, MetadataField
from pulsar_backlog.wire.rows import wire_row

Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int8]

TIMESTAMP = pa.timestamp("us", tz="UTC")
PROPERTIES = pa.map_(pa.string(), pa.string())
_MIN_PROPERTY_BYTES = 6
"""Tag and length of the property, of its key and of its value."""
_KERNEL_FIELDS = (*kernel.NUMBER_FIELDS, *kernel.BYTES_FIELDS)
_EVENT_TIME = NUMBER_OF["event_time"]
_NAME_OF = {field.number: field.name for field in METADATA_FIELDS}
_HAS_BROKER_METADATA = 1 << kernel.HAS_BROKER_METADATA
_FEW = 8
"""Different texts of a column in a batch that are numbered as they are met; where there are more they are hashed."""


@dataclass(frozen=True)
class Decoded:
    """What became of a run of entries: `len(plain) + len(rows) + len(errors)` is their number.

    Attributes:
        plain: places, among the entries given, of the entries in `columns`.
        columns: wire columns of the plain entries, by name of the `entries` table; of those asked for, as dictionaries.
        rows: (place, wire columns as a row) of entries the protobuf path decoded.
        errors: (place, error) of entries that cannot be decoded.
    """

    plain: Int64s
    columns: dict[str, pa.Array]
    rows: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    errors: list[tuple[int, DecodeError]] = field(default_factory=list)


def decode_entries(
    buffer: Bytes, offset: Int64s, length: Int64s, names: Collection[str] | None = None
) -> Decoded:  # fmt: skip
    """Decode the entries at `buffer[offset[i]:offset[i] + length[i]]`; `names` are the columns wanted, None is all.

    Raises:
        ValueError: an entry lies outside the buffer (a fault of the caller).
    """
    decoder = EntryDecoder(len(offset), int(length.sum()), len(offset) * kernel.MAX_PROPERTIES)
    decoder.add(buffer, offset, length)
    return decoder.decoded(names)


class EntryDecoder:
    """Gathers entries of one buffer after the other, until there are enough to make columns of.

    A column costs some microseconds however short it is, and there are dozens of them.
    """

    def __init__(
        self,
        max_entries: int,
        metadata_bytes: int,
        properties: int | None = None,
        repeated: Collection[str] = (),
    ) -> None:
        """Take `max_entries` entries at most, and `metadata_bytes` of metadata (or of entries the kernel leaves).

        Args:
            max_entries: room for entries.
            metadata_bytes: room for metadata; an entry that has more only finds room in a larger decoder.
            properties: room for properties; some for every entry when None.
            repeated: columns of texts or bytes to make dictionaries of.
        """
        room = 4 * max_entries if properties is None else properties
        self._arrays = _Arrays(max_entries, metadata_bytes, room, repeated)
        self._left_room = metadata_bytes
        self._rows: list[tuple[int, dict[str, Any]]] = []
        self._errors: list[tuple[int, DecodeError]] = []

    def add(self, buffer: Bytes, offset: Int64s, length: Int64s) -> int:
        """Decode entries at `buffer[offset[i]:offset[i] + length[i]]`; how many, fewer than given when it is full.

        Raises:
            ValueError: an entry lies outside the buffer (a fault of the caller).
        """
        if len(offset) and (offset.min() < 0 or length.min() < 0 or (offset + length).max() > len(buffer)):
            raise ValueError("an entry lies outside its buffer")
        if self._left_room < 0:
            return 0
        first = self._arrays.count
        taken = self._arrays.read(buffer, offset, length)
        for k in np.flatnonzero(self._arrays.status[first : first + taken] == kernel.DEFERRED).tolist():
            self._decode(first + k, buffer[offset[k] : offset[k] + length[k]].data)
        return taken

    def _decode(self, place: int, data: memoryview) -> None:
        self._left_room -= len(data)
        try:
            read_layout(data)  # what fails here is not copied
            entry: Entry = decode_entry(bytes(data))
        except DecodeError as error:
            self._errors.append((place, error))
        else:
            self._rows.append((place, wire_row(entry)))

    def decoded(self, names: Collection[str] | None = None) -> Decoded:
        """All that was gathered, with columns of these names; places count from the first entry on.

        Nothing may be added any more.
        """
        plain = np.flatnonzero(self._arrays.status[: self._arrays.count] == kernel.PLAIN)
        return Decoded(plain, self._arrays.columns(plain, names), self._rows, self._errors)


class _Arrays:
    """The kernel's arrays, and how they become Arrow arrays."""

    def __init__(self, n: int, metadata_bytes: int, properties: int, repeated: Collection[str]) -> None:
        self._repeated = repeated
        self._numbered = [number for number in kernel.BYTES_FIELDS if _NAME_OF[number] in repeated]
        self._numbered_rows = np.array([kernel.BYTES_FIELDS.index(number) for number in self._numbered], dtype=np.int64)
        self.codes = np.empty((len(self._numbered), n), dtype=np.int32)
        self.firsts = np.full((len(self._numbered), _FEW), -1)
        self.count = 0
        self.status = np.empty(n, dtype=np.int8)
        self.present = np.empty(n, dtype=np.int64)
        self.states = np.empty(n, dtype=np.int8)
        self.counts = np.empty(n, dtype=np.int64)
        self.length = np.empty(n, dtype=np.int64)
        self.layout = np.empty((len(kernel.LAYOUT_COLUMNS), n), dtype=np.int64)
        self.numbers = np.empty((len(kernel.NUMBER_FIELDS), n), dtype=np.int64)
        self.starts = np.empty((len(kernel.BYTES_FIELDS), n), dtype=np.int64)
        self.lengths = np.empty((len(kernel.BYTES_FIELDS), n), dtype=np.int64)
        # The operating system gives memory only for what is written.
        self.arena = np.empty(metadata_bytes, dtype=np.uint8)
        room = min(metadata_bytes // _MIN_PROPERTY_BYTES, properties) + kernel.MAX_PROPERTIES
        self.pair_starts = np.empty((2, room), dtype=np.int64)
        self.pair_lengths = np.empty((2, room), dtype=np.int64)
        self._used = self._pairs = 0

    def read(self, buffer: Bytes, offset: Int64s, length: Int64s) -> int:
        """How many entries there was room for."""
        first = self.count
        self.count, self._used, self._pairs = kernel.read_entries(
            buffer, offset, length, first, self._used, self._pairs, self.status, self.present, self.layout, self.states,
            self.numbers, self.starts, self.lengths, self.counts, self.arena, self.pair_starts, self.pair_lengths,
            self._numbered_rows, self.codes, self.firsts,
        )  # fmt: skip
        taken = self.count - first
        self.length[first : self.count] = length[:taken]
        return taken

    def columns(self, plain: Int64s, names: Collection[str] | None) -> dict[str, pa.Array]:
        """Columns of the plain entries, without those of metadata fields that none of them has."""
        self._select(plain if len(plain) < self.count else slice(self.count))
        self._in_some = int(np.bitwise_or.reduce(self.present))
        self._in_all = int(np.bitwise_and.reduce(self.present))
        in_some = (one for one in METADATA_FIELDS if one.number in _KERNEL_FIELDS and self._in_some >> one.number & 1)
        make = self._layout_columns() | {one.name: partial(self._column, one) for one in in_some}
        make["publish_time_ms"] = lambda: pa.array(self._number(NUMBER_OF["publish_time"]))
        make["properties"] = self._properties
        return {name: column() for name, column in make.items() if names is None or name in names}

    def _select(self, plain: Int64s | slice) -> None:
        for name in ("present", "states", "counts", "length"):
            setattr(self, name, getattr(self, name)[plain])
        self._values = {number: self._numbered_values(k) for k, number in enumerate(self._numbered)}
        for name in ("layout", "numbers", "starts", "lengths", "codes"):
            setattr(self, name, getattr(self, name)[:, plain])
        self.pair_starts, self.pair_lengths = self.pair_starts[:, : self._pairs], self.pair_lengths[:, : self._pairs]

    def _numbered_values(self, k: int) -> pa.Array:
        """The texts that were numbered, in the order of their numbers."""
        row, firsts = self._numbered_rows[k], self.firsts[k][self.firsts[k] >= 0]
        return runs_of_bytes(self.arena, self.starts[row, firsts], self.lengths[row, firsts], pa.binary(), None)

    def _layout_columns(self) -> dict[str, Callable[[], pa.Array]]:
        layout, offsets = self.layout, self.layout[kernel.PAYLOAD_OFFSET]
        has_broker_metadata, is_chunk = (self.present & bits != 0 for bits in (_HAS_BROKER_METADATA, kernel.CHUNK_BITS))
        has_no_time, has_no_index = map(self._absent, (kernel.HAS_BROKER_TIMESTAMP, kernel.HAS_INDEX))
        return {
            "length": lambda: pa.array(self.length.astype(np.int32)),
            "payload_offset": lambda: pa.array(offsets.astype(np.int32)),
            "payload_length": lambda: pa.array((self.length - offsets).astype(np.int32)),
            "checksum_state": lambda: self._names("checksum_state", CHECKSUM_STATES, self.states, None),
            "checksum": lambda: pa.array(layout[kernel.CHECKSUM], mask=self.states == 0),
            "payload_crc32c": lambda: pa.array(layout[kernel.PAYLOAD_CRC], mask=~is_chunk),
            "has_broker_metadata": lambda: pa.array(has_broker_metadata),
            "broker_timestamp": lambda: time_column(layout[kernel.BROKER_TIMESTAMP], has_no_time),
            "index": lambda: pa.array(layout[kernel.INDEX], mask=has_no_index),
        }

    def _absent(self, bit: int) -> Mask | None:
        """Which entries lack what a bit of `present` tells; None where none does."""
        if self._in_all >> bit & 1:
            return None
        absent: Mask = self.present & (1 << bit) == 0
        return absent

    def _number(self, number: int) -> Int64s:
        values: Int64s = self.numbers[kernel.NUMBER_FIELDS.index(number)]
        return values

    def _column(self, one: MetadataField) -> pa.Array:
        absent = self._absent(one.number)
        if one.number in kernel.BYTES_FIELDS:
            kind = pa.string() if one.kind is Kind.TEXT else pa.binary()
            if one.number not in self._values:
                return self._runs(one.number, kind, absent)
            codes, values = self.codes[self._numbered.index(one.number)], self._values[one.number]
            if len(codes) and codes.max(where=absent is None or ~absent, initial=0) >= _FEW:
                return self._runs(one.number, kind, absent).dictionary_encode()
            return pa.DictionaryArray.from_arrays(pa.array(codes, mask=absent), values.cast(kind))
        values = self._number(one.number)
        match one.kind:
            case Kind.TIME:
                # An event time of 0 is one that was never set.
                return time_column(values, _or(absent, values == 0) if one.number == _EVENT_TIME else absent)
            case Kind.CODEC:
                return self._names(one.name, COMPRESSIONS, values, absent)
            case Kind.BOOL:
                return pa.array(values == 1, mask=absent)
            case Kind.INT32:
                return pa.array(values.astype(np.int32), mask=absent)
            case _:
                return pa.array(values, mask=absent)

    def _properties(self) -> pa.Array:
        return property_maps(self.arena, self.pair_starts, self.pair_lengths, self.counts)

    def _runs(self, number: int, kind: pa.DataType, absent: Mask | None) -> pa.Array:
        row = kernel.BYTES_FIELDS.index(number)
        lengths = self.lengths[row] if absent is None else np.where(absent, 0, self.lengths[row])
        return runs_of_bytes(self.arena, self.starts[row], lengths, kind, absent)

    def _names(self, column: str, names: tuple[str, ...], numbers: Int64s | Codes, absent: Mask | None) -> pa.Array:
        """Text by number, as a dictionary: no Python object per entry."""
        numbers = numbers if absent is None else np.where(absent, 0, numbers)
        encoded = pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int32), mask=absent), list(names))
        return encoded if column in self._repeated else encoded.dictionary_decode()


def property_maps(arena: Bytes, pair_starts: Int64s, pair_lengths: Int64s, counts: Int64s) -> pa.Array:
    """Properties as maps, null where there is none; `counts` says how many of the pairs each row has."""
    keys, values = (runs_of_bytes(arena, pair_starts[k], pair_lengths[k], pa.string(), None) for k in range(2))
    ends = np.zeros(len(counts) + 1, dtype=np.int32)
    np.cumsum(counts, out=ends[1:])
    pairs = pa.StructArray.from_arrays([keys, values], fields=[PROPERTIES.key_field, PROPERTIES.item_field])
    validity = None if (counts > 0).all() else bitmap(counts == 0)
    return pa.Array.from_buffers(PROPERTIES, len(counts), [validity, pa.py_buffer(ends)], children=[pairs])


def runs_of_bytes(arena: Bytes, starts: Int64s, lengths: Int64s, kind: pa.DataType, absent: Mask | None) -> pa.Array:
    """Runs of bytes of an arena as texts or binaries; those that are absent have no length."""
    n = len(lengths)
    if absent is not None and absent.all():
        return pa.nulls(n, kind)
    ends = np.zeros(n + 1, dtype=np.int32)
    np.cumsum(lengths, out=ends[1:])
    data = _pooled_bytes(int(ends[-1]))
    kernel.copy_runs(arena, starts, ends[1:], data)
    validity = None if absent is None or not absent.any() else bitmap(absent)
    return pa.Array.from_buffers(kind, n, [validity, pa.py_buffer(ends), pa.py_buffer(data)])


def _pooled_bytes(size: int) -> Bytes:
    """Room for bytes in Arrow's memory pool, which keeps what was given back for a while.

    A page that is new to the process costs more than to copy into it: the system clears it when it is first touched.
    """
    return np.frombuffer(pa.allocate_buffer(size), dtype=np.uint8)


def _or(absent: Mask | None, also_absent: Mask) -> Mask:
    return also_absent if absent is None else absent | also_absent


def bitmap(absent: Mask) -> pa.Buffer:
    """Which are there, as Arrow marks it."""
    return pa.py_buffer(np.packbits(~absent, bitorder="little"))


def time_column(time_ms: Int64s, absent: Mask | None) -> pa.Array:
    """Milliseconds as microsecond timestamps; the kernel has checked their range where they are present."""
    in_range = time_ms if absent is None else np.where(absent, 0, time_ms)
    return pa.array(in_range * 1000, type=pa.int64(), mask=absent).view(TIMESTAMP)
