"""Members of plain batches on their way into Arrow: no Python object per member but for hashes, where they are wanted.

`PayloadOpener` opens other batches member by member; both give the same rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.messages.arrow_rows import BATCH_BYTES, BATCH_ROWS, as_type, is_empty
from pulsar_backlog.messages.payloads import BytesLike, PayloadStore
from pulsar_backlog.wire import batch_kernel as kernel
from pulsar_backlog.wire.arrays import Bytes, Int64s
from pulsar_backlog.wire.byte_views import MAX_ARENA_BYTES, VIEW, runs_as_views
from pulsar_backlog.wire.columns import Mask, bitmap, property_maps, runs_of_bytes, time_column
from pulsar_backlog.wire.kernel import MAX_PROPERTIES


class BatchMembers:
    """Gathers the members of a run of entries; written out and emptied when they grow large.

    Attributes:
        entries: the entries' columns of `messages`, one row each.
        schema: the columns of `messages` that are wanted; payloads may be views.
    """

    def __init__(
        self, columns: pa.RecordBatch, entries: pa.RecordBatch, store: PayloadStore, schema: pa.Schema,
        buffer: Bytes | None = None,
    ) -> None:  # fmt: skip
        """Gather members of entries that have these columns; with `buffer`, only of batches in it (`add_stored`)."""
        self.entries = entries
        self.schema = schema
        self._columns = columns
        self._largest = min(store.inline_limit_bytes, store.max_message_bytes)
        self._in_buffer = buffer is not None and len(buffer) <= MAX_ARENA_BYTES
        self._arena = np.empty(0, dtype=np.uint8) if buffer is None else buffer
        self._table = np.empty((len(kernel.TABLE_ROWS), 0), dtype=np.int64)
        self._pairs = np.empty((4, 0), dtype=np.int64)
        self._used = self._rows = self._used_pairs = 0
        self._batches: list[tuple[int, int, int, str, str]] = []

    def add(self, at: int, size: int, payload: BytesLike, outcome: str, reason: str) -> bool:
        """Add the members of the batch of entry `at`; False where it is not plain, and nothing was added."""
        end = self._used + len(payload)
        self._arena = _grown(self._arena, end)
        self._arena[self._used : end] = np.frombuffer(payload, dtype=np.uint8)
        (members,) = self._read(*(np.array([one], dtype=np.int64) for one in (self._used, end, size)))
        if members < 0:
            return False
        self._batches.append((at, size, int(members), outcome, reason))
        self._used = end
        return True

    def add_stored(self, at: Int64s, start: Int64s, end: Int64s) -> Mask:
        """Add the members of batches of entries `at` that lie in the buffer; which were plain, and were added."""
        sizes = _batch_sizes(self._columns)[at]
        members = self._read(start, end, sizes)
        plain: Mask = members >= 0
        added = zip(at[plain].tolist(), sizes[plain].tolist(), members[plain].tolist(), strict=True)
        self._batches += [(*one, "exported", "") for one in added]
        self._used += int((end - start).sum())
        return plain

    def _read(self, start: Int64s, end: Int64s, sizes: Int64s) -> Int64s:
        """Read batches of the arena; how many members each has, -1 where it is not plain."""
        members = np.empty(len(start), dtype=np.int64)
        self._make_room(end - start, sizes)
        self._rows, self._used_pairs = kernel.read_batches(
            self._arena, start, end, sizes, self._largest, self._table, self._rows, self._pairs[:2], self._pairs[2:],
            self._used_pairs, members,
        )  # fmt: skip
        return members

    @property
    def full(self) -> bool:
        """Whether it is time to write them out."""
        return self._used >= BATCH_BYTES or self._rows >= BATCH_ROWS

    def take(self) -> Iterator[pa.RecordBatch]:
        """What was added since, as one batch of `messages`, if any."""
        if self._rows:
            yield self._taken()
        self._used = self._rows = self._used_pairs = 0
        self._batches = []

    def _make_room(self, lengths: Int64s, sizes: Int64s) -> None:
        """Grow by what is about to come; the bytes that are there bound how many members and properties it can be."""
        members = np.clip(sizes, 0, lengths // kernel.MIN_MEMBER_BYTES)
        pairs = np.minimum(members * MAX_PROPERTIES, lengths // kernel.MIN_MEMBER_BYTES)
        self._table = _grown(self._table, self._rows + int(members.sum()))
        self._pairs = _grown(self._pairs, self._used_pairs + int(pairs.sum()) + MAX_PROPERTIES + 1)

    def _taken(self) -> pa.RecordBatch:
        at, size, counts = (np.array(one, dtype=np.int64) for one in list(zip(*self._batches, strict=True))[:3])
        made = _Made(self, np.repeat(np.arange(len(at)), counts), at, size)
        places = pa.array(made.at)
        arrays = []
        for column in self.schema:
            if column.type == VIEW and self._in_buffer:
                arrays.append(made.payload_views())
            elif column.name in _OWN:
                arrays.append(as_type(_OWN[column.name](made), column.type))
            elif column.name in self.entries.schema.names:
                arrays.append(_spread(self.entries.column(column.name), places))
            else:
                arrays.append(pa.nulls(self._rows, column.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _spread(column: pa.Array, places: pa.Array) -> pa.Array:
    """What batches have, for each of their members."""
    return pa.nulls(len(places), column.type) if is_empty(column) else column.take(places)


class _Made:
    """Columns of the members that were gathered."""

    def __init__(self, members: BatchMembers, batch: Int64s, at: Int64s, size: Int64s) -> None:
        self._members = members
        self._table = members._table[:, : members._rows]
        self._batch = batch
        self.at = at[batch]
        self._size = size[batch]

    def _has(self, field: int) -> Mask:
        has: Mask = (self._table[kernel.PRESENT] >> field & 1).astype(np.bool_)
        return has

    @property
    def _nulls(self) -> Mask:
        nulls: Mask = (self._table[kernel.TRUE] >> kernel.NULL_VALUE & 1).astype(np.bool_)
        return nulls

    def of_batch(self, place: int) -> pa.Array:
        """Texts that were told of each batch."""
        texts = [one[place] for one in self._members._batches]
        if len(set(texts)) == 1:
            return pa.repeat(pa.scalar(texts[0], pa.string()), len(self.at))
        return pa.array(texts, pa.string()).take(pa.array(self._batch))

    def verified(self) -> pa.Array:
        sound = [outcome == "exported" and not reason for *_, outcome, reason in self._members._batches]
        return pa.array(np.array(sound)[self._batch])

    def payload(self) -> pa.Array:
        nulls = self._nulls
        return self._runs(kernel.PAYLOAD, pa.binary(), nulls if nulls.any() else None)

    def payload_views(self) -> pa.Array:
        nulls = self._nulls
        validity = bitmap(nulls) if nulls.any() else None
        starts, sizes = self._table[kernel.PAYLOAD], self._table[kernel.PAYLOAD_SIZE]
        return runs_as_views(self._members._arena, starts, sizes, validity)

    def sha256(self) -> pa.Array:
        view = self._members._arena.data
        starts, sizes = self._table[kernel.PAYLOAD].tolist(), self._table[kernel.PAYLOAD_SIZE].tolist()
        digests = [
            hashlib.sha256(view[start : start + size]).hexdigest() for start, size in zip(starts, sizes, strict=True)
        ]
        return pa.array(digests, pa.string(), mask=self._nulls)

    def bytes_field(self, row: int, field: int, kind: pa.DataType) -> pa.Array:
        return self._runs(row, kind, ~self._has(field))

    def bool_field(self, field: int) -> pa.Array:
        return pa.array((self._table[kernel.TRUE] >> field & 1).astype(np.bool_), mask=~self._has(field))

    def number(self, row: int) -> pa.Array:
        return pa.array(self._table[row].copy())  # the next rows come into the same table

    def batch_size(self) -> pa.Array:
        return pa.array(self._size)

    def event_time(self) -> pa.Array:
        times = self._table[kernel.EVENT_TIME]
        has = self._has(kernel.EVENT_TIME_FIELD)
        return time_column(times, ~has | (times == 0))

    def sequence_id(self) -> pa.Array:
        own = pa.array(self._table[kernel.SEQUENCE_ID], mask=~self._has(kernel.SEQUENCE_ID_FIELD))
        return pc.coalesce(own, self._entry("sequence_id"))

    def index(self) -> pa.Array:
        back = self._size - 1 - self._table[kernel.BATCH_INDEX]
        return pc.subtract(self._entry("index"), pa.array(back))

    def properties(self) -> pa.Array:
        members = self._members
        pairs = members._pairs[:, : members._used_pairs]
        return property_maps(members._arena, pairs[:2], pairs[2:], self._table[kernel.PAIRS])

    def _entry(self, name: str) -> pa.Array:
        columns = self._members._columns
        if name not in columns.schema.names:
            return pa.nulls(len(self.at), pa.int64())
        return columns.column(name).cast(pa.int64()).take(pa.array(self.at))

    def _runs(self, row: int, kind: pa.DataType, absent: Any) -> pa.Array:
        lengths = self._table[row + 1] if absent is None else np.where(absent, 0, self._table[row + 1])
        return runs_of_bytes(self._members._arena, self._table[row], lengths, kind, absent)


_OWN: dict[str, Callable[[_Made], pa.Array]] = {
    "outcome": lambda made: made.of_batch(3),
    "verified": _Made.verified,
    "reason": lambda made: made.of_batch(4),
    "payload": _Made.payload,
    "payload_file": lambda made: pa.nulls(len(made.at), pa.string()),
    "payload_bytes": lambda made: made.number(kernel.PAYLOAD_SIZE),
    "payload_sha256": _Made.sha256,
    "batch_index": lambda made: made.number(kernel.BATCH_INDEX),
    "batch_size": _Made.batch_size,
    "sequence_id": _Made.sequence_id,
    "index": _Made.index,
    "event_time": _Made.event_time,
    "properties": _Made.properties,
    "partition_key": lambda made: made.bytes_field(kernel.KEY, kernel.KEY_FIELD, pa.string()),
    "partition_key_b64_encoded": lambda made: made.bool_field(kernel.KEY_IS_BASE64),
    "null_partition_key": lambda made: made.bool_field(kernel.NULL_KEY),
    "ordering_key": lambda made: made.bytes_field(kernel.ORDERING_KEY, kernel.ORDERING_KEY_FIELD, pa.binary()),
    "null_value": lambda made: made.bool_field(kernel.NULL_VALUE),
}
"""Columns of `messages` that are a member's own, see `member_columns`; the others are those of its entry."""


def stored_batches(columns: pa.RecordBatch, lengths: Int64s) -> Iterator[Int64s]:
    """Which entries are batches that are stored as they were sent, and of which there is no doubt; in runs.

    Args:
        columns: of the entries.
        lengths: bytes of their payloads.

    Yields:
        Places among the entries, of about `BATCH_BYTES` or `BATCH_ROWS` together.
    """
    sizes = _batch_sizes(columns)
    sound = sizes > 0
    for name, as_sent in _AS_SENT.items():
        if name in columns.schema.names:
            sound &= as_sent(columns.column(name), lengths)
    places = np.flatnonzero(sound)
    weights = np.maximum(lengths / BATCH_BYTES, sizes / BATCH_ROWS)[places]
    breaks = np.flatnonzero(np.diff(np.floor(np.cumsum(weights) - weights))) + 1
    return (run for run in np.split(places, breaks) if len(run))


def _states(column: pa.Array, lengths: Int64s) -> Mask:
    """Which sizes are these lengths, or none; as `stated_bytes`."""
    if is_empty(column):
        return np.ones(len(column), dtype=np.bool_)
    stated = pc.fill_null(column, 0).to_numpy()
    same: Mask = (stated == 0) | (stated == lengths)
    return same


_AS_SENT: dict[str, Callable[[pa.Array, Int64s], Mask | bool]] = {
    "checksum_state": lambda column, _: _mask(pc.equal(column, "valid")),
    "encryption_keys": lambda column, _: is_empty(column) or _mask(pc.is_null(column)),
    "compression": lambda column, _: is_empty(column) or _mask(pc.equal(pc.fill_null(column, "NONE"), "NONE")),
    "uncompressed_size": _states,
}
"""What must be true of an entry's columns where its payload is what was sent."""


def _mask(column: pa.Array) -> Mask:
    mask: Mask = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    return mask


def _batch_sizes(columns: pa.RecordBatch) -> Int64s:
    """How many members each entry says it has; 0 where it is no batch."""
    if "num_messages_in_batch" not in columns.schema.names:
        return np.zeros(columns.num_rows, dtype=np.int64)
    sizes: Int64s = pc.fill_null(columns.column("num_messages_in_batch"), 0).to_numpy().astype(np.int64)
    return sizes


def _grown(array: Any, room: int) -> Any:
    """An array with at least so much room in its last dimension, and what it held."""
    there = array.shape[-1]
    if room <= there:
        return array
    larger = np.empty((*array.shape[:-1], max(room, 2 * there)), dtype=array.dtype)
    larger[..., :there] = array
    return larger
