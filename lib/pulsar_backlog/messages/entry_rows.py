"""Single messages and batches: plan rows of one stretch -> one read -> kernel -> rows of `messages`. No Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.places import BlockOpener, Entries, inflated_entries
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.messages.arrow_rows import Rows, entry_columns, positions_of
from pulsar_backlog.messages.batch_members import BatchMembers, stored_batches
from pulsar_backlog.messages.entry_payloads import PayloadOpener
from pulsar_backlog.messages.keys import KeySource
from pulsar_backlog.messages.outcomes import Outcome, unexportable
from pulsar_backlog.messages.payloads import PayloadStore
from pulsar_backlog.messages.ranges import GAP_BYTES, WINDOW_BYTES
from pulsar_backlog.wire.arrays import Bytes, Int64s
from pulsar_backlog.wire.columns import decode_entries


@dataclass(frozen=True)
class ExportContext:
    """What every export task needs besides its rows; sent as a broadcast. Holds no key.

    Attributes:
        cluster: name of the cluster.
        topics: ledger id -> topic.
        source: where the objects lie.
        keys: where private keys are.
        store: where payloads go.
    """

    cluster: str
    topics: dict[int, str | None]
    source: Source
    keys: KeySource
    store: PayloadStore


@dataclass(frozen=True)
class Stretch:
    """Plan rows of one ledger, in one file, that are read at once, ascending: arrays of equal length.

    `batched` is 1 where the scan read a batch count, else 0: all that is known of what cannot be read any more. Places
    are as in `entries`; `inner_offset` and `block_length` are -1 where nothing is compressed.
    """

    ledger_id: int
    path: str
    entry_id: Int64s
    offset: Int64s
    length: Int64s
    inner_offset: Int64s
    block_length: Int64s
    txn_state: Int64s
    batched: Int64s

    def part(self, chosen: Any) -> Stretch:
        """Some of its rows."""
        return Stretch(self.ledger_id, self.path, *(getattr(self, name)[chosen] for name in _COLUMNS))

    @property
    def end(self) -> Int64s:
        """The byte after the last one that must be read of each, in the object."""
        return self.offset + np.where(self.block_length < 0, self.length, self.block_length)

    @property
    def is_compressed(self) -> bool:
        """Whether its entries lie in compressed blocks: of one ledger all do, or none."""
        return bool(self.inner_offset[0] >= 0)


_COLUMNS = tuple(field.name for field in fields(Stretch) if field.name not in ("ledger_id", "path"))


def stretches(batch: pa.RecordBatch) -> Iterator[Stretch]:
    """Plan rows cut where ledger or file change, a gap is not worth reading, or a read would become too large."""
    ledger, *columns = (
        batch.column(name).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        for name in ("ledger_id", *_COLUMNS)
    )
    uris = batch.column("uri").dictionary_encode()
    file = uris.indices.to_numpy(zero_copy_only=False)
    every = Stretch(-1, "", *columns)
    offset, end = every.offset, every.end
    elsewhere = (ledger[1:] != ledger[:-1]) | (file[1:] != file[:-1])
    breaks = np.flatnonzero(elsewhere | (offset[1:] - end[:-1] > GAP_BYTES)) + 1
    for first, last in zip([0, *breaks.tolist()], [*breaks.tolist(), len(ledger)], strict=True):
        start = first
        while start < last:
            stop = start + max(1, int(np.searchsorted(end[start:last], offset[start] + WINDOW_BYTES, side="right")))
            path = uris.dictionary[int(file[start])].as_py()
            yield replace(every.part(slice(start, stop)), ledger_id=int(ledger[start]), path=path)
            start = stop


def export_stretch(stretch: Stretch, context: ExportContext, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Read a stretch and give out its messages; whatever cannot be read is a row that says so."""
    base = int(stretch.offset[0])
    try:
        buffer = context.source.read(stretch.path, base, int(stretch.end.max()))
        inside = stretch.end - base <= len(buffer)
        if not inside.all():
            cut_off = stretch.part(~inside)
            yield from unread_rows(cut_off, context, schema, "unreadable", "its object ends before it")
            stretch = stretch.part(inside)
        if not len(stretch.offset):
            return
        if not stretch.is_compressed:
            yield from _decode(stretch, buffer, stretch.offset - base, context, schema)
            return
        yield from _decompress(stretch, buffer, base, context, schema)
    except SourceError as error:
        fault = unexportable(error)
        yield from unread_rows(stretch, context, schema, fault.outcome, fault.reason)


def _decompress(
    stretch: Stretch, buffer: Bytes, base: int, context: ExportContext, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The messages of blocks that lie in the buffer."""
    places = Entries(stretch.offset - base, stretch.block_length, stretch.inner_offset, stretch.length)
    for chosen, inflated, at in inflated_entries(BlockOpener(context.source), stretch.path, buffer, places):
        part, there = stretch.part(chosen), at >= 0
        if not there.all():
            damaged = part.part(~there)
            yield from unread_rows(
                damaged, context, schema, "unreadable", "its block does not decompress that far any more"
            )
        if there.any():
            yield from _decode(part.part(there), inflated, at[there], context, schema)


def _decode(
    stretch: Stretch, buffer: Bytes, at: Int64s, context: ExportContext, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The messages of entries that begin `at` these places of the buffer."""
    decoded = decode_entries(buffer, at, stretch.length)
    if len(decoded.plain):
        columns = pa.RecordBatch.from_pydict(decoded.columns)
        yield from messages_of(columns, stretch.part(decoded.plain), buffer, at[decoded.plain], context, schema)
    if decoded.rows:
        chosen = np.array([place for place, _ in decoded.rows], dtype=np.int64)
        columns = pa.RecordBatch.from_pylist([wire_values(row) for _, row in decoded.rows], schema=_row_schema(schema))
        yield from messages_of(columns, stretch.part(chosen), buffer, at[chosen], context, schema)
    for place, error in decoded.errors:
        fault = unexportable(error)
        yield from unread_rows(stretch.part([place]), context, schema, fault.outcome, fault.reason)


WIRE_TYPES = {
    "payload_offset": pa.int32(),
    "checksum_state": pa.string(),
    "num_messages_in_batch": pa.int32(),
    "encryption_param": pa.binary(),
    "encryption_keys": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
}
"""Columns of an entry that its messages are opened by and that `messages` does not have."""


def _row_schema(schema: pa.Schema) -> pa.Schema:
    """What is needed of an entry that the protobuf path decoded."""
    return pa.schema(
        [*(field.with_nullable(True) for field in schema if field.name not in WIRE_TYPES), *WIRE_TYPES.items()]
    )


def wire_values(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the protobuf path as Arrow takes it."""
    keys = row["encryption_keys"]
    return row | {"encryption_keys": keys and [{"key": key["key"], "value": key["value"]} for key in keys]}


def messages_of(
    columns: pa.RecordBatch,
    stretch: Stretch,
    buffer: Bytes,
    at: Int64s,
    context: ExportContext,
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """Messages of decoded entries, in the order of the entries within each kind."""
    payload_offset = columns.column("payload_offset").to_numpy().astype(np.int64)
    start, end = at + payload_offset, at + stretch.length
    places = _places(stretch, payload_offset, context, schema)
    batched = _batched(columns)
    entries = entry_columns(columns, places, stretch.txn_state, batched, schema)
    members = BatchMembers(columns, entries, context.store, schema, buffer)
    others = np.ones(len(start), dtype=np.bool_)
    for run in stored_batches(columns, end - start):
        others[run] = ~members.add_stored(run, start[run], end[run])
        yield from members.take()
    if not others.any():
        return
    opener = PayloadOpener(columns, entries, context.store, context.keys.ring(), schema)
    view = buffer.data.toreadonly()
    for number in np.flatnonzero(others).tolist():
        rows = opener.open(number, view[start[number] : end[number]])
        if rows.full:
            yield from rows.take()
    yield from opener.bare.take()
    yield from opener.members.take()
    yield from opener.plain.take()


def _batched(columns: pa.RecordBatch) -> Int64s:
    """1 where an entry is a batch, else 0."""
    if "num_messages_in_batch" not in columns.schema.names:
        return np.zeros(columns.num_rows, dtype=np.int64)
    batched: Int64s = columns.column("num_messages_in_batch").is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
    return batched


def _places(stretch: Stretch, skip: Int64s, context: ExportContext, schema: pa.Schema) -> dict[str, pa.Array]:
    """Identity columns, and the location of each entry without its first `skip` bytes."""
    topic = context.topics[stretch.ledger_id]
    count = len(stretch.entry_id)
    ledger_id = pa.repeat(pa.scalar(stretch.ledger_id, pa.int64()), count)
    entry_id = pa.array(stretch.entry_id)
    identity = {"ledger_id": ledger_id, "entry_id": entry_id}
    for name, text in (("cluster", context.cluster), ("topic", topic)):
        if name in schema.names:
            identity[name] = pa.repeat(pa.scalar(text, pa.string()), count)
    if "positions" not in schema.names:
        return identity
    uri = pa.repeat(pa.scalar(stretch.path, pa.string()), count)
    stored = stretch.block_length < 0
    places = (
        pa.array(stretch.offset + np.where(stored, skip, 0)),
        pa.array(stretch.length - skip),
        pa.array(stretch.inner_offset + skip, mask=stored),
        pa.array(stretch.block_length, mask=stored),
    )
    kind = schema.field("positions").type
    return identity | {"positions": positions_of([ledger_id, entry_id, uri, *places], kind)}


def unread_rows(
    stretch: Stretch, context: ExportContext, schema: pa.Schema, outcome: Outcome, reason: str
) -> Iterator[pa.RecordBatch]:
    """Rows of entries of which nothing but the place is known."""
    places = _places(stretch, np.zeros(len(stretch.entry_id), dtype=np.int64), context, schema)
    nothing = pa.RecordBatch.from_pydict({"entry_id": pa.array(stretch.entry_id)})
    rows = Rows(entry_columns(nothing, places, stretch.txn_state, stretch.batched, schema), schema)
    for at in range(len(stretch.entry_id)):
        rows.add(at, outcome, reason, None)
    yield from rows.take()
