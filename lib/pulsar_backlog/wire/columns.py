"""Frames of a buffer -> Arrow columns of entries, through the kernel, with the protobuf path for what it leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire import kernel
from pulsar_backlog.wire.entry import CHECKSUM_STATES, Entry, decode_entry, read_frame
from pulsar_backlog.wire.metadata import COMPRESSIONS
from pulsar_backlog.wire.rows import wire_row

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

TIMESTAMP = pa.timestamp("us", tz="UTC")
PROPERTIES = pa.map_(pa.string(), pa.string())
_NAMES = {
    1: "producer_name", 2: "sequence_id", 5: "replicated_from", 6: "partition_key", 9: "uncompressed_size",
    11: "num_messages_in_batch", 14: "encryption_algo", 15: "encryption_param", 16: "schema_version",
    17: "partition_key_b64_encoded", 18: "ordering_key", 20: "marker_type", 22: "txnid_least_bits",
    23: "txnid_most_bits", 24: "highest_sequence_id", 25: "null_value", 26: "uuid", 27: "num_chunks_from_msg",
    28: "total_chunk_msg_size", 29: "chunk_id", 30: "null_partition_key", 32: "schema_id", 33: "entry_hash_min",
    34: "entry_hash_max",
}  # fmt: skip
_MIN_PROPERTY_BYTES = 6
"""Tag and length of the property, of its key and of its value."""
_INT32 = (11, 20, 27, 28, 29)
_BOOL = (17, 25, 30)
_PUBLISH_TIME, _COMPRESSION, _EVENT_TIME, _DELIVER_AT = 3, 8, 12, 19


@dataclass(frozen=True)
class Decoded:
    """What became of a run of frames: `len(plain) + len(rows) + len(errors)` is their number.

    Attributes:
        plain: places, among the frames given, of the entries in `columns`.
        columns: wire columns of the plain entries, by name of the `entries` table.
        rows: (place, wire columns as a row) of entries the protobuf path decoded.
        errors: (place, error) of entries that cannot be decoded.
    """

    plain: Int64s
    columns: dict[str, pa.Array]
    rows: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    errors: list[tuple[int, DecodeError]] = field(default_factory=list)


def decode_frames(buffer: Bytes, offset: Int64s, length: Int64s) -> Decoded:
    """Decode the entries at `buffer[offset[i]:offset[i] + length[i]]`, all of them.

    Raises:
        ValueError: a frame lies outside the buffer (a fault of the caller).
    """
    decoder = FrameDecoder(len(offset), int(length.sum()), len(offset) * kernel.MAX_PROPERTIES)
    decoder.add(buffer, offset, length)
    return decoder.decoded()


class FrameDecoder:
    """Gathers frames of one buffer after the other, until there are enough to make columns of.

    A column costs some microseconds however short it is, and there are dozens of them.
    """

    def __init__(self, max_frames: int, metadata_bytes: int, properties: int | None = None) -> None:
        """Take `max_frames` frames at most, and `metadata_bytes` of metadata (or of frames the kernel leaves).

        Args:
            max_frames: room for frames.
            metadata_bytes: room for metadata; an entry that has more only finds room in a larger decoder.
            properties: room for properties; some for every frame when None.
        """
        self._arrays = _Arrays(max_frames, metadata_bytes, 4 * max_frames if properties is None else properties)
        self._left_room = metadata_bytes
        self._rows: list[tuple[int, dict[str, Any]]] = []
        self._errors: list[tuple[int, DecodeError]] = []

    def add(self, buffer: Bytes, offset: Int64s, length: Int64s) -> int:
        """Decode entries at `buffer[offset[i]:offset[i] + length[i]]`; how many, fewer than given when it is full.

        Raises:
            ValueError: a frame lies outside the buffer (a fault of the caller).
        """
        if len(offset) and (offset.min() < 0 or length.min() < 0 or (offset + length).max() > len(buffer)):
            raise ValueError("a frame lies outside its buffer")
        if self._left_room < 0:
            return 0
        first = self._arrays.count
        taken = self._arrays.read(buffer, offset, length)
        for k in np.flatnonzero(self._arrays.status[first : first + taken] == kernel.LEFT).tolist():
            self._decode(first + k, buffer[offset[k] : offset[k] + length[k]].data)
        return taken

    def _decode(self, place: int, data: memoryview) -> None:
        self._left_room -= len(data)
        try:
            read_frame(data)  # what fails here is not copied
            entry: Entry = decode_entry(bytes(data))
        except DecodeError as error:
            self._errors.append((place, error))
        else:
            self._rows.append((place, wire_row(entry)))

    def decoded(self) -> Decoded:
        """All that was gathered; places count from the first frame on. Nothing may be added any more."""
        plain = np.flatnonzero(self._arrays.status[: self._arrays.count] == kernel.PLAIN)
        return Decoded(plain, self._arrays.columns(plain), self._rows, self._errors)


class _Arrays:
    """The kernel's arrays, and how they become Arrow arrays."""

    def __init__(self, n: int, metadata_bytes: int, properties: int) -> None:
        self.count = 0
        self.status = np.empty(n, dtype=np.int8)
        self.present = np.empty(n, dtype=np.int64)
        self.states = np.empty(n, dtype=np.int8)
        self.counts = np.empty(n, dtype=np.int64)
        self.length = np.empty(n, dtype=np.int64)
        self.frame = np.empty((len(kernel.FRAME_COLUMNS), n), dtype=np.int64)
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
        """How many frames there was room for."""
        first = self.count
        self.count, self._used, self._pairs = kernel.read_entries(
            buffer, offset, length, first, self._used, self._pairs, self.status, self.present, self.frame, self.states,
            self.numbers, self.starts, self.lengths, self.counts, self.arena, self.pair_starts, self.pair_lengths,
        )  # fmt: skip
        taken = self.count - first
        self.length[first : self.count] = length[:taken]
        return taken

    def columns(self, plain: Int64s) -> dict[str, pa.Array]:
        self._select(plain if len(plain) < self.count else slice(self.count))
        columns = self._frame_columns()
        for number, name in _NAMES.items():
            columns[name] = self._column(number)
        publish_ms = self._number(_PUBLISH_TIME)
        columns["publish_time_ms"] = pa.array(publish_ms)
        columns["publish_time"] = _timestamps(publish_ms, None)
        event_ms = self._number(_EVENT_TIME)
        columns["event_time"] = _timestamps(event_ms, self._absent(_EVENT_TIME) | (event_ms == 0))
        columns["deliver_at_time"] = _timestamps(self._number(_DELIVER_AT), self._absent(_DELIVER_AT))
        columns["compression"] = _names(COMPRESSIONS, self._number(_COMPRESSION), self._absent(_COMPRESSION))
        columns["properties"] = self._properties()
        return columns

    def _select(self, plain: Int64s | slice) -> None:
        for name in ("present", "states", "counts", "length"):
            setattr(self, name, getattr(self, name)[plain])
        for name in ("frame", "numbers", "starts", "lengths"):
            setattr(self, name, getattr(self, name)[:, plain])
        self.pair_starts, self.pair_lengths = self.pair_starts[:, : self._pairs], self.pair_lengths[:, : self._pairs]

    def _frame_columns(self) -> dict[str, pa.Array]:
        payload_offset = self.frame[kernel.PAYLOAD_OFFSET]
        is_chunk = ~(self._absent(26) & self._absent(27) & self._absent(29))
        no_time = self._absent(kernel.HAS_BROKER_TIMESTAMP)
        return {
            "length": pa.array(self.length.astype(np.int32)),
            "payload_offset": pa.array(payload_offset.astype(np.int32)),
            "payload_length": pa.array((self.length - payload_offset).astype(np.int32)),
            "checksum_state": _names(CHECKSUM_STATES, self.states.astype(np.int64), None),
            "checksum": pa.array(self.frame[kernel.CHECKSUM], mask=self.states == 0),
            "payload_crc32c": pa.array(self.frame[kernel.PAYLOAD_CRC], mask=~is_chunk),
            "has_broker_metadata": pa.array(~self._absent(kernel.HAS_BROKER_METADATA)),
            "broker_timestamp": _timestamps(self.frame[kernel.BROKER_TIMESTAMP], no_time),
            "index": pa.array(self.frame[kernel.INDEX], mask=self._absent(kernel.HAS_INDEX)),
        }

    def _absent(self, bit: int) -> Mask:
        absent: Mask = (self.present >> bit) & 1 == 0
        return absent

    def _number(self, number: int) -> Int64s:
        values: Int64s = self.numbers[kernel.NUMBER_FIELDS.index(number)]
        return values

    def _column(self, number: int) -> pa.Array:
        absent = self._absent(number)
        if number in kernel.BYTES_FIELDS:
            row = kernel.BYTES_FIELDS.index(number)
            kind = pa.string() if number in kernel.TEXT_FIELDS else pa.binary()
            return self._runs(self.starts[row], np.where(absent, 0, self.lengths[row]), kind, absent)
        values = self._number(number)
        if number in _INT32:
            return pa.array(values.astype(np.int32), mask=absent)
        return pa.array(values == 1, mask=absent) if number in _BOOL else pa.array(values, mask=absent)

    def _properties(self) -> pa.Array:
        keys, values = (self._runs(self.pair_starts[k], self.pair_lengths[k], pa.string(), None) for k in range(2))
        ends = np.zeros(len(self.counts) + 1, dtype=np.int32)
        np.cumsum(self.counts, out=ends[1:])
        pairs = pa.StructArray.from_arrays([keys, values], fields=[PROPERTIES.key_field, PROPERTIES.item_field])
        validity = None if (self.counts > 0).all() else _bitmap(self.counts == 0)
        return pa.Array.from_buffers(PROPERTIES, len(self.counts), [validity, pa.py_buffer(ends)], children=[pairs])

    def _runs(self, starts: Int64s, lengths: Int64s, kind: pa.DataType, absent: Mask | None) -> pa.Array:
        n = len(lengths)
        if absent is not None and absent.all():
            return pa.nulls(n, kind)
        ends = np.zeros(n + 1, dtype=np.int32)
        np.cumsum(lengths, out=ends[1:])
        data = np.empty(int(ends[-1]), dtype=np.uint8)
        kernel.copy_runs(self.arena, starts, ends[1:], data)
        validity = None if absent is None or not absent.any() else _bitmap(absent)
        return pa.Array.from_buffers(kind, n, [validity, pa.py_buffer(ends), pa.py_buffer(data)])


def _bitmap(absent: Mask) -> pa.Buffer:
    return pa.py_buffer(np.packbits(~absent, bitorder="little"))


def _timestamps(time_ms: Int64s, absent: Mask | None) -> pa.Array:
    """Milliseconds as microsecond timestamps; the kernel has checked their range where they are present."""
    in_range = time_ms if absent is None else np.where(absent, 0, time_ms)
    return pa.array(in_range * 1000, type=pa.int64(), mask=absent).view(TIMESTAMP)


def _names(names: tuple[str, ...], numbers: Int64s, absent: Mask | None) -> pa.Array:
    """Text by number, built as a dictionary and then decoded: no Python object per entry."""
    numbers = numbers if absent is None else np.where(absent, 0, numbers)
    indices = pa.array(numbers.astype(np.int8), mask=absent)
    return pa.DictionaryArray.from_arrays(indices, list(names)).dictionary_decode()
