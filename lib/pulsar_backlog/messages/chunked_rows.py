"""Chunked messages: plan rows -> announced ranges -> one message after the other -> rows of `messages`. No Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pulsar_backlog.ledgers.places import BlockOpener
from pulsar_backlog.messages.arrow_rows import BATCH_BYTES
from pulsar_backlog.messages.entry_rows import ExportContext
from pulsar_backlog.messages.kinds import TRANSACTIONS
from pulsar_backlog.messages.outcomes import NULL_WITH_BYTES
from pulsar_backlog.messages.ranges import Range, RangeReader, range_of
from pulsar_backlog.messages.rebuild import ChunkedMessage, Copy, Rebuilt, rebuild_message
from pulsar_backlog.wire.rows import as_time, wire_row

GROUP_BYTES = 32 * 1024 * 1024
"""Stored bytes of messages whose ranges are read together; a larger message is a group of its own."""
GROUP_MESSAGES = 4096

_CONTESTED = "its chunks contradict each other or copies of one differ, and nobody can tell which is right"
_COPY_FIELDS = (
    "chunk_id", "ledger_id", "entry_id", "offset", "length", "payload_offset", "inner_offset", "block_length",
)  # fmt: skip
_SCALARS = (
    "chunk_uuid", "publish_time_ms", "state", "num_chunks", "total_bytes", "uncompressed_bytes", "compression",
    "encrypted", "contested", "txn_state",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Planned:
    """A message and what its plan row says besides."""

    message: ChunkedMessage
    state: str
    contested: bool
    txn_state: int


def planned_messages(batch: pa.RecordBatch) -> Iterator[Planned]:
    """The messages of a batch of plan rows, one at a time: their lists can be long."""
    scalars = {name: batch.column(name).to_pylist() for name in _SCALARS}
    copies = batch.column("copies")
    fields = [copies.values.field(name).fill_null(-1).to_numpy(zero_copy_only=False) for name in _COPY_FIELDS]
    picked = [batch.column(name) for name in ("picked_ledgers", "picked_entries")]
    uris = copies.values.field("uri").dictionary_encode()
    fields.append(uris.indices.to_numpy(zero_copy_only=False))
    paths = uris.dictionary.to_pylist()
    ends = copies.offsets.to_numpy()
    for row in range(batch.num_rows):
        rows = zip(*(column[ends[row] : ends[row + 1]].tolist() for column in fields), strict=True)
        value = {name: column[row] for name, column in scalars.items()}
        picks = set(zip(*(column[row].as_py() or () for column in picked), strict=True))
        message = ChunkedMessage(
            uuid=value["chunk_uuid"],
            publish_time_ms=value["publish_time_ms"],
            total_bytes=value["total_bytes"],
            uncompressed_size=value["uncompressed_bytes"],
            compression=value["compression"],
            encrypted=value["encrypted"],
            copies=_by_chunk(rows, value["num_chunks"], picks, paths),
        )
        yield Planned(message, value["state"], bool(value["contested"]), value["txn_state"])


def _by_chunk(
    rows: Iterator[tuple[int, ...]], count: int, picks: set[tuple[int, int]], paths: list[str]
) -> tuple[tuple[Copy, ...], ...]:
    """Copies by chunk id, those of the manifest first."""
    copies: dict[int, list[Copy]] = {}
    for chunk_id, ledger_id, entry_id, offset, length, payload_offset, *block, path in rows:
        inner_offset, block_length = (None if number < 0 else number for number in block)
        copy = Copy(ledger_id, entry_id, paths[path], offset, length, payload_offset, inner_offset, block_length)
        own = copies.setdefault(chunk_id, [])
        own.insert(0, copy) if (ledger_id, entry_id) in picks else own.append(copy)
    return tuple(tuple(copies.get(chunk_id, ())) for chunk_id in range(count))


def export_planned(planned: Iterator[Planned], context: ExportContext, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rebuild messages in groups whose ranges are read together."""
    group: list[Planned] = []
    size = 0
    for item in planned:
        if group and (size + item.message.total_bytes > GROUP_BYTES or len(group) == GROUP_MESSAGES):
            yield from _export_group(group, context, schema)
            group, size = [], 0
        group.append(item)
        size += item.message.total_bytes
    if group:
        yield from _export_group(group, context, schema)


def _export_group(group: list[Planned], context: ExportContext, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    wanted = (one for item in group for one in _ranges(item.message))
    reader = RangeReader(context.source.read, wanted, BlockOpener(context.source))
    ring = context.keys.ring()
    rows, size = [], 0
    for item in group:
        rebuilt = rebuild_message(item.message, reader, ring, context.store)
        rows.append(_row(item, rebuilt, context))
        size += len(rebuilt.payload.inline or b"") if rebuilt.payload else 0
        if size >= BATCH_BYTES:
            yield pa.RecordBatch.from_pylist(rows, schema=schema)
            rows, size = [], 0
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=schema)


def _ranges(message: ChunkedMessage) -> Iterator[Range]:
    for copies in message.copies:
        for copy in copies[:1]:
            yield range_of(copy.place)


def _row(item: Planned, rebuilt: Rebuilt, context: ExportContext) -> dict[str, Any]:
    message, payload = item.message, rebuilt.payload
    used = rebuilt.used or tuple(copies[0] for copies in message.copies if copies)
    first, last = used[0], used[-1]
    row = wire_row(rebuilt.last) if rebuilt.last is not None else {}
    keys = row.pop("encryption_keys", None)
    marked_null = bool(row.get("null_value")) and payload is not None
    null = marked_null and not (payload and payload.size_bytes)
    doubts = (rebuilt.reason, _CONTESTED if item.contested else "", NULL_WITH_BYTES if marked_null and not null else "")
    reason = "; ".join(filter(None, doubts))
    return row | {
        "cluster": context.cluster,
        "topic": context.topics[last.ledger_id],
        "ledger_id": last.ledger_id,
        "entry_id": last.entry_id,
        "batch_index": -1,
        "first_ledger_id": first.ledger_id,
        "first_entry_id": first.entry_id,
        "state": item.state,
        "positions": [_position(copy) for copy in used],
        "outcome": rebuilt.outcome,
        "verified": rebuilt.outcome == "exported" and not reason,
        "reason": reason,
        "payload": payload.inline if payload and not null else None,
        "payload_file": payload.file if payload else None,
        "payload_bytes": payload.size_bytes if payload else None,
        "payload_sha256": payload.sha256 if payload and not null else None,
        "encryption_key_names": [key["key"] for key in keys] if keys else None,
        "compression": message.compression,
        "publish_time": as_time(message.publish_time_ms),
        "publish_time_ms": message.publish_time_ms,
        "transaction": TRANSACTIONS[item.txn_state],
        "chunk_uuid": message.uuid,
        "num_chunks": len(message.copies),
    }


def _position(copy: Copy) -> dict[str, Any]:
    place = copy.payload_place
    return {
        "ledger_id": copy.ledger_id,
        "entry_id": copy.entry_id,
        "uri": place.path,
        "offset": place.offset,
        "length": place.length,
        "inner_offset": place.inner_offset,
        "block_length": place.block_length,
    }
