"""A stretch of decoded entries of one ledger, as numpy columns: what every fact is made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.facts import entry_numbers as of
from pulsar_backlog.facts import stretch_fold as fold
from pulsar_backlog.findings import MAX_EVIDENCE
from pulsar_backlog.wire.arrays import Int64s

Bools = npt.NDArray[np.bool_]

_MICROS_IN_MILLI = 1000
_LEAST, _MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max

_PRESENT = {
    of.MARKER: "marker_type", of.BATCH: "num_messages_in_batch", of.CHUNKS: "num_chunks_from_msg",
    of.CHUNK_ID: "chunk_id", of.UUID: "uuid", of.TRANSACTION: "txnid_most_bits", of.INDEX: "index",
    of.BROKER: "broker_timestamp", of.PUBLISH: "publish_time", of.REPLICATED: "replicated_from",
}  # fmt: skip
"""Bits that say that a column is not null."""

_NUMBERS = {
    of.ENTRY_ID: "entry_id", of.LENGTH: "length", of.PAYLOAD_LENGTH: "payload_length",
    of.PAYLOAD_OFFSET: "payload_offset", of.BATCH_SIZE: "num_messages_in_batch", of.CHUNK_COUNT: "num_chunks_from_msg",
    of.CHUNK: "chunk_id", of.INDEX_NUMBER: "index", of.BROKER_MS: "broker_timestamp", of.PUBLISH_MS: "publish_time",
    of.WIRE_MS: "publish_time_ms",
}  # fmt: skip

COLUMNS = (
    "topic", "ledger_id", "entry_id", "offset", "length", "block_length", "payload_offset", "payload_length",
    "checksum_state", "has_broker_metadata", "broker_timestamp", "index", "producer_name", "sequence_id",
    "publish_time", "publish_time_ms", "replicated_from", "compression", "num_messages_in_batch", "marker_type", "uuid",
    "num_chunks_from_msg", "chunk_id", "flags", "txnid_most_bits",
)  # fmt: skip
"""Columns of `entries` that facts are made from."""


@dataclass(frozen=True)
class Nullable:
    """Whole numbers that may be absent; `values` are 0 where they are."""

    values: Int64s
    present: Bools

    def at(self, place: int) -> int | None:
        """The number at a place, or None."""
        return int(self.values[place]) if self.present[place] else None

    def most(self) -> int | None:
        """The largest number, or None."""
        numbers = self.values if self.present.all() else self.values[self.present]
        return int(numbers.max()) if len(numbers) else None


@dataclass
class Folded:
    """What `stretch_fold` makes of entries, as it describes it."""

    sums: Int64s = field(default_factory=lambda: np.zeros(fold.SUM_COUNT, np.int64))
    extremes: Int64s = field(
        default_factory=lambda: np.repeat([_MOST, _LEAST], [fold.LEAST_COUNT, fold.EXTREME_COUNT - fold.LEAST_COUNT])
    )
    places: Int64s = field(default_factory=lambda: np.full(fold.PLACE_COUNT, -1))
    steps: Int64s = field(default_factory=lambda: np.zeros((fold.STEP_COUNT, 3), np.int64))
    evidence: Int64s = field(default_factory=lambda: np.zeros((fold.STEP_COUNT, MAX_EVIDENCE), np.int64))

    def extreme(self, place: int, count: int) -> int | None:
        """An extreme; None where none of those that this sum counts is there."""
        return int(self.extremes[place]) if self.sums[count] else None


@dataclass(frozen=True)
class Stretch:
    """At least one entry, and those that follow it in its ledger, as stored; `rows` holds at least `COLUMNS`."""

    rows: pa.RecordBatch

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @cached_property
    def topic(self) -> str | None:
        """The topic of all of them."""
        return self.rows.column("topic")[0].as_py()  # type: ignore[no-any-return]

    @cached_property
    def ledger_id(self) -> int:
        """The ledger of all of them."""
        return int(self.rows.column("ledger_id")[0].as_py())

    @cached_property
    def numbers(self) -> tuple[Int64s, ...]:
        """What each entry says, by the places of `facts.entry_numbers`."""
        numbers = {place: numbers_of(self.rows.column(name)) for place, name in _NUMBERS.items()}
        numbers[of.END] = numbers_of(self.rows.column("offset")) + self._stored_lengths()
        return tuple(numbers[place] for place in range(len(numbers)))

    def _stored_lengths(self) -> Int64s:
        """Bytes from `offset` on that hold each entry: its own, or those of its block where the store compresses."""
        blocks, lengths = self.rows.column("block_length"), self.rows.column("length")
        return numbers_of(
            lengths if blocks.null_count == len(blocks) else pc.coalesce(blocks, lengths.cast(blocks.type))
        )

    @cached_property
    def flags(self) -> npt.NDArray[np.uint16]:
        """What is known of each entry: bits of `facts.entry_numbers`."""
        flags = np.zeros(len(self), dtype=np.uint16)
        for flag, name in _PRESENT.items():
            column = self.rows.column(name)
            if not column.null_count:
                flags |= np.uint16(flag)
            elif column.null_count < len(column):
                flags |= present(column) * np.uint16(flag)
        checksums = self.rows.column("checksum_state")
        flags |= equals(checksums, "mismatch") * np.uint16(of.DAMAGED)
        flags |= equals(checksums, "absent") * np.uint16(of.UNCHECKED)
        flags |= self.rows.column("has_broker_metadata").to_numpy(zero_copy_only=False) * np.uint16(of.METADATA)
        return flags

    @cached_property
    def folded(self) -> Folded:
        """What the compiled loop makes of all of them."""
        folded = Folded()
        fold.fold_stretch(self.flags, self.numbers, self.topic is not None, *vars(folded).values())
        return folded

    def has(self, bits: int) -> Bools:
        """Whether an entry has any of these."""
        return np.asarray(self.flags & np.uint16(bits) != 0)

    def has_only(self, wanted: int, others: int) -> Bools:
        """Whether an entry has all of the wanted bits and none of the others."""
        return np.asarray(self.flags & np.uint16(wanted | others) == wanted)

    @property
    def entry_ids(self) -> Int64s:
        """Ids."""
        return self.numbers[of.ENTRY_ID]

    @property
    def told_publish_ms(self) -> Nullable:
        """When a producer says it sent it, of undamaged messages only and where it is no nonsense: what is compared."""
        is_told = self.has_only(of.PUBLISH, of.DAMAGED | of.MARKER)
        return Nullable(self.numbers[of.PUBLISH_MS] * is_told, is_told)

    def first_message_index(self, rows: Int64s) -> Nullable:
        """Indexes of the first messages of entries at some rows.

        Absent where an entry is damaged, or a wrong count or index leaves 64 bits.
        Brokers append an entry of a transaction without its count of messages (TopicTransactionBuffer), by which the
        batch of another moves the index on.
        """
        index, count, flags = self.numbers[of.INDEX_NUMBER][rows], self.numbers[of.BATCH_SIZE][rows], self.flags[rows]
        others = (count - 1) * (flags & (of.BATCH | of.TRANSACTION) == of.BATCH)
        first = index - others
        overflows = ((index ^ others) & (index ^ first)) < 0
        return Nullable(first, (flags & (of.INDEX | of.DAMAGED) == of.INDEX) & ~overflows)


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
    """A column of whole numbers, or of times as milliseconds."""
    return Nullable(numbers_of(column), present(column))


def numbers_of(column: pa.Array) -> Int64s:
    """The same without what says which are absent. Memory is looked at as it is: a copy takes longer."""
    if column.null_count == len(column):
        return _zeros(len(column))
    kind = np.dtype(f"i{column.type.bit_width // 8}")
    numbers = np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column)].astype(np.int64)
    if pa.types.is_timestamp(column.type):
        numbers //= _MICROS_IN_MILLI
    return numbers * present(column) if column.null_count else numbers


@lru_cache(4)
def _zeros(count: int) -> Int64s:
    """For all columns without a number; nobody writes into it."""
    return np.zeros(count, dtype=np.int64)


def equals(column: pa.Array, text: str) -> Bools:
    """Where a column that is never null holds this text."""
    if pa.types.is_dictionary(column.type):
        number = column.dictionary.index(text).as_py()  # -1 where it has no such text, which no row has either
        return np.asarray(column.indices.to_numpy() == number)
    return np.asarray(pc.equal(column, text).to_numpy(zero_copy_only=False))
