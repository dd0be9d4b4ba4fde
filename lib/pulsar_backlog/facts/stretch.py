"""A stretch of decoded entries of one ledger, as numpy columns: what every fact is made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.wire.arrays import Int64s

Bools = npt.NDArray[np.bool_]

_MICROS_IN_MILLI = 1000

COLUMNS = (
    "topic", "ledger_id", "entry_id", "offset", "length", "block_length", "payload_offset", "payload_length",
    "checksum_state", "has_broker_metadata", "broker_timestamp", "index", "producer_name", "sequence_id",
    "publish_time", "publish_time_ms", "replicated_from", "compression", "num_messages_in_batch", "marker_type", "uuid",
    "num_chunks_from_msg", "chunk_id", "flags", "txnid_most_bits",
)  # fmt: skip
"""Columns of `entries` that facts are made from."""


@dataclass(frozen=True)
class Nullable:
    """Whole numbers that may be absent; `values` are 0 where they are.

    So numbers are chosen by a product or a sum, which takes a fifth of the time of `np.where`.
    """

    values: Int64s
    present: Bools

    def __and__(self, wanted: Bools) -> Nullable:
        """The same, absent where not wanted."""
        if wanted.all():
            return self
        present = self.present & wanted
        return Nullable(self.values * present, present)

    def or_else(self, other: Nullable) -> Nullable:
        """The other's number where this one is absent."""
        if self.present.all():
            return self
        return Nullable(self.values + other.values * ~self.present, self.present | other.present)

    def or_one(self) -> Int64s:
        """The numbers, 1 where there is none."""
        return self.values + ~self.present

    def at(self, place: int) -> int | None:
        """The number at a place, or None."""
        return int(self.values[place]) if self.present[place] else None

    def least(self) -> int | None:
        """The smallest number, or None."""
        numbers = self._numbers()
        return int(numbers.min()) if len(numbers) else None

    def most(self) -> int | None:
        """The largest number, or None."""
        numbers = self._numbers()
        return int(numbers.max()) if len(numbers) else None

    def ends(self) -> tuple[int, int] | None:
        """The first and the last place of a number, or None."""
        first = int(self.present.argmax()) if len(self.present) else 0
        if not self.present[first : first + 1].any():
            return None
        return first, len(self.present) - 1 - int(self.present[::-1].argmax())

    def _numbers(self) -> Int64s:
        return self.values if self.present.all() else self.values[self.present]


@dataclass(frozen=True)
class Stretch:
    """At least one entry, and those that follow it in its ledger, as stored; `rows` holds at least `COLUMNS`."""

    rows: pa.RecordBatch

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @cached_property
    def _columns(self) -> dict[str, Nullable]:
        """Columns that were asked for."""
        return {}

    @cached_property
    def topic(self) -> str | None:
        """The topic of all of them."""
        return self.rows.column("topic")[0].as_py()  # type: ignore[no-any-return]

    @cached_property
    def ledger_id(self) -> int:
        """The ledger of all of them."""
        return int(self.rows.column("ledger_id")[0].as_py())

    def longs(self, name: str) -> Int64s:
        """A column of whole numbers that is never null."""
        return self.nullable(name).values

    @property
    def stored_lengths(self) -> Int64s:
        """Bytes from `offset` on that hold each entry: its own, or those of its block where the store compresses."""
        blocks = self.nullable("block_length")
        if not blocks.present.any():
            return self.lengths
        return np.where(blocks.present, blocks.values, self.lengths)

    def nullable(self, name: str) -> Nullable:
        """A column of whole numbers, or of times as milliseconds, that may be null."""
        if name not in self._columns:
            self._columns[name] = nullable(self.rows.column(name))
        return self._columns[name]

    def present(self, name: str) -> Bools:
        """Where a column is not null."""
        return present(self.rows.column(name))

    @cached_property
    def entry_ids(self) -> Int64s:
        """Ids."""
        return self.longs("entry_id")

    @cached_property
    def lengths(self) -> Int64s:
        """Bytes of each entry."""
        return self.longs("length")

    @cached_property
    def is_marker(self) -> Bools:
        """Whether it is a marker, which is no message."""
        return self.present("marker_type")

    @cached_property
    def is_damaged(self) -> Bools:
        """Whether its checksum does not agree, so that it says nothing certain about itself."""
        return equals(self.rows.column("checksum_state"), "mismatch")

    @cached_property
    def is_unchecked(self) -> Bools:
        """Whether it carries no checksum."""
        return equals(self.rows.column("checksum_state"), "absent")

    @cached_property
    def has_uuid(self) -> Bools:
        """Whether it has a chunk uuid."""
        return self.present("uuid")

    @cached_property
    def has_chunk_field(self) -> Bools:
        """Whether it has any of the fields of a chunk."""
        return self.has_uuid | self.present("chunk_id") | self.present("num_chunks_from_msg")

    @cached_property
    def is_chunk(self) -> Bools:
        """Whether it carries chunk fields and is a message of a known topic."""
        if self.topic is None:
            return np.zeros(len(self), dtype=np.bool_)
        return self.has_chunk_field & ~self.is_marker

    @cached_property
    def batch(self) -> Nullable:
        """Messages that its batch says it holds; absent where it is no batch."""
        return self.nullable("num_messages_in_batch")

    @cached_property
    def counted_batch(self) -> Nullable:
        """Messages by which its batch moves the broker's index on; absent where that moves on by one.

        Brokers append an entry of a transaction without its count of messages (TopicTransactionBuffer).
        """
        return self.batch & ~self.present("txnid_most_bits")

    @cached_property
    def message_counts(self) -> Int64s:
        """Messages in it: none in a marker, one in a bare one."""
        return np.maximum(self.batch.or_one(), 0) * ~self.is_marker

    @cached_property
    def index(self) -> Nullable:
        """The broker's index of its last message."""
        return self.nullable("index")

    @cached_property
    def broker_ms(self) -> Nullable:
        """When the broker added it."""
        return self.nullable("broker_timestamp")

    @cached_property
    def has_metadata(self) -> Bools:
        """Whether it begins with broker metadata."""
        return np.asarray(self.rows.column("has_broker_metadata").to_numpy(zero_copy_only=False))

    @cached_property
    def wire_publish_ms(self) -> Int64s:
        """When the producer says it sent it, as on the wire."""
        return self.longs("publish_time_ms")

    @cached_property
    def publish_ms(self) -> Nullable:
        """When the producer says it sent it; absent where that is out of range."""
        return self.nullable("publish_time")

    @cached_property
    def told_publish_ms(self) -> Nullable:
        """The same of undamaged messages only: what may be compared."""
        return self.publish_ms & ~(self.is_damaged | self.is_marker)

    @cached_property
    def stored_ms(self) -> Nullable:
        """When it was stored: by the broker's clock, else by the producer's."""
        return self.broker_ms.or_else(self.publish_ms)

    def first_message_index(self, rows: Int64s) -> Nullable:
        """Indexes of the first messages of entries at some rows; absent where a wrong count or index leaves 64 bits."""
        index, count = self.index.values[rows], self.counted_batch
        others = Nullable(count.values[rows], count.present[rows]).or_one() - 1
        first = index - others
        overflows = ((index ^ others) & (index ^ first)) < 0
        return Nullable(first, self.index.present[rows] & ~overflows)


def present(column: pa.Array) -> Bools:
    """Where a column is not null."""
    if not column.null_count:
        return np.ones(len(column), dtype=np.bool_)
    bitmap = column.buffers()[0]
    if bitmap is None:  # a column of the type null
        return np.zeros(len(column), dtype=np.bool_)
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), count=column.offset + len(column), bitorder="little")
    return bits[column.offset :].view(np.bool_)


def nullable(column: pa.Array) -> Nullable:
    """A column of whole numbers, or of times as milliseconds. Its memory is looked at as it is: a copy takes longer."""
    there = present(column)
    if column.null_count == len(column):
        return Nullable(np.zeros(len(column), dtype=np.int64), there)
    kind = np.dtype(f"i{column.type.bit_width // 8}")
    numbers = np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column)].astype(np.int64)
    if pa.types.is_timestamp(column.type):
        numbers //= _MICROS_IN_MILLI
    return Nullable(numbers * there if column.null_count else numbers, there)


def equals(column: pa.Array, text: str) -> Bools:
    """Where a column that is never null holds this text."""
    if pa.types.is_dictionary(column.type):
        number = column.dictionary.index(text).as_py()  # -1 where it has no such text, which no row has either
        return np.asarray(column.indices.to_numpy() == number)
    return np.asarray(pc.equal(column, text).to_numpy(zero_copy_only=False))


def last_before(column: Nullable) -> Nullable:
    """For each row the last number that is present in the rows before it."""
    if column.present.all():
        before = np.zeros_like(column.values)
        before[1:] = column.values[:-1]
        return Nullable(before, np.arange(len(before)) > 0)
    rows = np.arange(len(column.values))
    upto = np.maximum.accumulate(np.where(column.present, rows, -1)) if len(rows) else rows
    before = np.concatenate(([-1], upto[:-1]))
    return Nullable(np.where(before >= 0, column.values[np.maximum(before, 0)], 0), before >= 0)
