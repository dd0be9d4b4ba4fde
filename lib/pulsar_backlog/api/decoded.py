"""Entries of a walked batch, decoded where they lie and in their order, with the places that payloads are opened at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.ledgers.entry_batch import EntryBatch
from pulsar_backlog.ledgers.values import ScanUnit
from pulsar_backlog.messages.entry_rows import WIRE_TYPES, Stretch, wire_values
from pulsar_backlog.messages.kinds import NO_TRANSACTION
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tables.entries import LOCATION_COLUMNS, TABLE
from pulsar_backlog.wire.arrays import Bytes, Int64s
from pulsar_backlog.wire.columns import decode_entries

ENTRIES_AT_ONCE = 1024
"""Entries whose messages are in memory together."""

_LOCATION = frozenset(column.name for column in LOCATION_COLUMNS)
_SCHEMA = pa.schema(
    [
        *(one.with_nullable(True) for one in arrow_schema(TABLE) if one.name not in _LOCATION | WIRE_TYPES.keys()),
        *WIRE_TYPES.items(),
        ("ledger_id", pa.int64()),
        ("entry_id", pa.int64()),
    ]
)


_OPENED_BY = frozenset(
    {
        "ledger_id", "entry_id", "payload_offset", "checksum_state", "compression", "uncompressed_size",
        "num_messages_in_batch", "null_value", "encryption_keys", "encryption_param", "index", "sequence_id",
        "publish_time", "publish_time_ms", "broker_timestamp", "producer_name", "partition_key",
        "partition_key_b64_encoded", "marker_type", "txnid_most_bits", "txnid_least_bits", "uuid", "chunk_id",
        "num_chunks_from_msg",
    }
)  # fmt: skip
"""Columns by which entries are chosen, and their messages opened."""


def entry_schema(names: Iterable[str]) -> pa.Schema:
    """The columns of entries that are needed for rows of `messages` with columns of these names."""
    wanted = _OPENED_BY.union(names)
    return pa.schema([one for one in _SCHEMA if one.name in wanted])


@dataclass(frozen=True)
class Run:
    """Entries of one file that follow one another.

    Attributes:
        columns: wire columns of `entries` that are needed, with `ledger_id` and `entry_id`.
        stretch: where they lie.
        buffer: their bytes.
        at: first byte of each in the buffer.
    """

    columns: pa.RecordBatch
    stretch: Stretch
    buffer: Bytes
    at: Int64s

    def part(self, mask: pa.Array) -> Run:
        """Some of them."""
        chosen = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
        if len(chosen) == len(self.at):
            return self
        return Run(self.columns.filter(mask), self.stretch.part(chosen), self.buffer, self.at[chosen])

    def with_transactions(self, states: Int64s) -> Run:
        """The same entries, with the state of each one's transaction."""
        return replace(self, stretch=replace(self.stretch, txn_state=states))


@dataclass(frozen=True)
class Broken:
    """Entries that could not be decoded, and why."""

    stretch: Stretch
    errors: tuple[DecodeError, ...]


@dataclass(frozen=True)
class Walked:
    """Entries of one file that follow one another, as they were read.

    Attributes:
        stretch: where they lie.
        buffer: their bytes.
        at: first byte of each in the buffer.
    """

    stretch: Stretch
    buffer: Bytes
    at: Int64s


def walked(unit: ScanUnit, batch: EntryBatch) -> Iterator[Walked]:
    """All entries of a batch, `ENTRIES_AT_ONCE` of one file at a time, in their order."""
    for path, chosen in _by_file(unit, batch):
        for first in range(0, len(chosen), ENTRIES_AT_ONCE):
            stretch, at = _stretch(unit, batch, path, chosen[first : first + ENTRIES_AT_ONCE])
            yield Walked(stretch, batch.buffer, at)


def _by_file(unit: ScanUnit, batch: EntryBatch) -> Iterator[tuple[str, Int64s]]:
    if batch.spread is None:
        yield unit.path, np.arange(len(batch.entry_id))
        return
    breaks = np.flatnonzero(np.diff(batch.spread.path)) + 1
    for chosen in np.split(np.arange(len(batch.entry_id)), breaks):
        if len(chosen):
            yield batch.spread.paths[int(batch.spread.path[chosen[0]])], chosen


def _stretch(unit: ScanUnit, batch: EntryBatch, path: str, chosen: Int64s) -> tuple[Stretch, Int64s]:
    n = len(chosen)
    none, packed = np.full(n, -1, dtype=np.int64), batch.compressed
    if batch.spread is not None:
        offset, inner, block = batch.spread.offset[chosen], none, none
    elif packed is not None:
        offset, inner, block = packed.offset[chosen], packed.inner_offset[chosen], packed.length[chosen]
    else:
        offset, inner, block = batch.places[chosen], none, none
    states = np.full(n, NO_TRANSACTION, dtype=np.int64)
    stretch = Stretch(
        unit.ledger_id, path, batch.entry_id[chosen], offset, batch.length[chosen], inner, block, states,
        np.zeros(n, dtype=np.int64),
    )  # fmt: skip
    return stretch, batch.offset[chosen]


def decoded_entries(entries: Walked, schema: pa.Schema) -> Iterator[Run | Broken]:
    """Those that can be decoded in their order, with the columns of a schema, and then those that cannot."""
    stretch, at = entries.stretch, entries.at
    decoded = decode_entries(entries.buffer, at, stretch.length, schema.names)
    parts = [_plain(decoded.columns, len(decoded.plain), schema)] if len(decoded.plain) else []
    order = decoded.plain
    if decoded.rows:
        parts.append(pa.RecordBatch.from_pylist([wire_values(row) for _, row in decoded.rows], schema=schema))
        order = np.concatenate((order, np.array([place for place, _ in decoded.rows], dtype=np.int64)))
    if parts:
        chosen = np.sort(order)
        columns = parts[0] if len(parts) == 1 else pa.concat_batches(parts).take(pa.array(np.argsort(order)))
        yield Run(_with_places(columns, stretch.part(chosen)), stretch.part(chosen), entries.buffer, at[chosen])
    if decoded.errors:
        yield Broken(stretch.part([place for place, _ in decoded.errors]), tuple(error for _, error in decoded.errors))


def _plain(columns: dict[str, pa.Array], rows: int, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [columns[one.name] if one.name in columns else pa.nulls(rows, one.type) for one in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _with_places(columns: pa.RecordBatch, stretch: Stretch) -> pa.RecordBatch:
    places: dict[str, Any] = {
        "ledger_id": pa.repeat(pa.scalar(stretch.ledger_id, pa.int64()), columns.num_rows),
        "entry_id": pa.array(stretch.entry_id),
    }
    arrays = [places.get(name, column) for name, column in zip(columns.schema.names, columns.columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=columns.schema)
