"""Rows of `messages` -> rows of `message_digests`: who sent a message, and what it holds, as numbers.

Replication keeps producer name, sequence id and publish time of a message (`GeoPersistentReplicator` and
`ProducerImpl.updateMessageMetadata`, apache/pulsar at 492eb456), and so does `rebuild-topic`: these three are the
origin. It adds `replicated_from` and a property of its own, gives schemas other versions, clears `replicate_to` and
transactions, and may batch anew (PIP-495). So none of these is part of the content, and a member of a batch equals a
single message.

Whoever changes a hash here counts `DIGEST_VERSION` up: digests of two versions are never compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.facts.digest import hashes_of, mixed, properties_hashes
from pulsar_backlog.messages.outcomes import OPENED, Outcome
from pulsar_backlog.messages.provenance import LOOP_PROPERTY, PREFIX
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.wire.jit import compiled, crc32c

DIGEST_VERSION = 2
SCHEMA = arrow_schema(TABLES["message_digests"])

Hashes = npt.NDArray[np.uint64]

CLOSED: tuple[Outcome, ...] = ("no_key", "undecryptable", "too_large", "no_room")
"""Outcomes of messages that are there but stay shut: they are matched, and their payload is not compared."""

_PASSED_ON = (
    "ledger_id", "entry_id", "batch_index", "producer_name", "sequence_id", "highest_sequence_id", "publish_time_ms",
    "replicated_from", "chunk_uuid", "outcome", "verified", "payload_bytes",
)  # fmt: skip
_CONTENT = ("partition_key", "partition_key_b64_encoded", "ordering_key", "event_time", "null_value")
"""Besides payload and properties. `null_partition_key` is left out: brokers and clients differ in setting it."""


def digest_rows(messages: pa.RecordBatch, cluster: str, side: str, topic: str | None) -> pa.RecordBatch:
    """Rows of `messages`, their payloads inline, as rows of `message_digests`."""
    rows = messages.num_rows
    messages = with_names_of_uuids(messages)
    origin, is_known = origin_hashes(messages)
    crc = payload_crcs(messages.column("payload"))
    opened = pc.is_in(messages.column("outcome"), pa.array(OPENED)).to_numpy(zero_copy_only=False)
    there = pc.is_in(messages.column("outcome"), pa.array((*OPENED, *CLOSED))).to_numpy(zero_copy_only=False)
    columns: dict[str, Any] = {name: messages.column(name) for name in _PASSED_ON}
    columns |= {
        "cluster": pa.repeat(pa.scalar(cluster), rows),
        "side": pa.repeat(pa.scalar(side), rows),
        "topic": pa.repeat(pa.scalar(topic, pa.string()), rows),
        "broker_time_ms": pc.divide(messages.column("broker_timestamp").cast(pa.int64()), 1000),
        "replicate_to": pc.binary_join(messages.column("replicate_to").cast(pa.list_(pa.string())), ","),
        "is_repair": pa.array(_of_repairs(messages.column("properties"))),
        "payload_crc32c": pa.array(crc, mask=~opened),
        "origin": pa.array(origin.view(np.int64), mask=~is_known),
        "ordinal": pa.array(_ordinals(messages, origin).astype(np.int32)),
        "content": pa.array(_content(messages, crc).view(np.int64), mask=~there),
    }
    return pa.RecordBatch.from_arrays([columns[field.name].cast(field.type) for field in SCHEMA], schema=SCHEMA)


def with_names_of_uuids(messages: pa.RecordBatch) -> pa.RecordBatch:
    """The same, with producer and sequence id of chunked messages that stay shut: by their uuid, PRODUCER-SEQUENCE."""
    names, uuids = messages.column("producer_name"), messages.column("chunk_uuid")
    if uuids.null_count == len(uuids) or names.null_count == 0:
        return messages
    parts = pc.extract_regex(uuids, r"^(?P<name>.*)-(?P<number>\d{1,18})$")
    numbers = pc.cast(pc.struct_field(parts, "number"), pa.int64())
    for name, made in (("producer_name", pc.struct_field(parts, "name")), ("sequence_id", numbers)):
        messages = messages.set_column(
            messages.schema.get_field_index(name), name, pc.coalesce(messages.column(name), made)
        )
    return messages


def origin_hashes(rows: pa.RecordBatch | pa.Table) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    """Hash of producer, sequence id and publish time of each row, and whether these are known."""
    origin = mixed(sender_hashes(rows) * np.uint64(31) ^ _numbers(rows.column("publish_time_ms")))
    is_known = pc.is_valid(_whole(rows.column("producer_name"))).to_numpy(zero_copy_only=False)
    return origin, np.asarray(is_known, dtype=np.bool_)


def sender_hashes(rows: pa.RecordBatch | pa.Table) -> Hashes:
    """Hash of producer and sequence id of each row."""
    sender = mixed(hashes_of(_whole(rows.column("producer_name")).fill_null("")))
    return mixed(sender * np.uint64(31) ^ _numbers(rows.column("sequence_id")))


def payload_crcs(payload: pa.Array) -> npt.NDArray[np.int64]:
    """CRC-32C of each payload; 0 where there is none, as of an empty one."""
    crcs = np.zeros(len(payload), dtype=np.int64)
    if len(payload) and payload.null_count < len(payload):
        _, offsets, data = payload.buffers()
        starts = np.frombuffer(offsets, dtype=np.int32)[payload.offset : payload.offset + len(payload) + 1]
        _crc_runs(np.frombuffer(data or b"", dtype=np.uint8), starts, crcs)
    return crcs


def digests_of(origin: npt.NDArray[np.int64], content: npt.NDArray[np.int64]) -> Hashes:
    """One number for each message, of whose it is and what it holds."""
    digest: Hashes = mixed(mixed(origin.view(np.uint64)) * np.uint64(31) ^ content.view(np.uint64))
    return digest


def link_of(before: Any, origin: Any) -> Hashes:
    """One number for two neighbours in a log, which depends on which comes first."""
    link: Hashes = mixed(mixed(np.asarray(before).view(np.uint64)) * np.uint64(33) ^ np.asarray(origin).view(np.uint64))
    return link


def _content(messages: pa.RecordBatch, crc: npt.NDArray[np.int64]) -> Hashes:
    content = mixed(crc.view(np.uint64) ^ (_numbers(messages.column("payload_bytes")) << np.uint64(32)))
    for number, name in enumerate(_CONTENT, start=1):
        column = messages.column(name)
        if column.null_count < len(column):
            own = mixed(content ^ hashes_of(_comparable(column)) ^ np.uint64(number))
            content = np.where(_is_said(column), own, content)
    return mixed(content ^ properties_hashes(messages.column("properties"), PREFIX))


def _of_repairs(column: pa.MapArray) -> npt.NDArray[np.bool_]:
    """Which messages a repair published."""
    offsets = column.offsets.to_numpy().astype(np.int64)
    keys = column.keys[offsets[0] : offsets[-1]]
    named = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(_is_equal(keys, LOOP_PROPERTY))))
    ends = offsets - offsets[0]
    return np.asarray(named[ends[1:]] > named[ends[:-1]])


def _is_equal(keys: pa.Array, name: str) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.equal(keys, name).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _comparable(column: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).fill_null(0)
    return column.fill_null(False) if pa.types.is_boolean(column.type) else column


def _is_said(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Whether a value says more than its absence: a flag that is false does not."""
    present = pc.fill_null(column, False) if pa.types.is_boolean(column.type) else pc.is_valid(column)
    return np.asarray(present.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _numbers(column: pa.Array | pa.ChunkedArray) -> Hashes:
    numbers: Hashes = _whole(column).cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
    return numbers


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    combined = column.combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined


def _ordinals(messages: pa.RecordBatch, origin: Hashes) -> npt.NDArray[np.int64]:
    """How many rows of the same entry with the same origin stand before each row."""
    entry = _numbers(messages.column("entry_id")).view(np.int64)
    order = np.lexsort((np.arange(len(entry)), origin, entry))
    begins = np.ones(len(entry), dtype=np.bool_)
    begins[1:] = (entry[order][1:] != entry[order][:-1]) | (origin[order][1:] != origin[order][:-1])
    first = np.maximum.accumulate(np.where(begins, np.arange(len(entry)), 0))
    ordinals = np.empty(len(entry), dtype=np.int64)
    ordinals[order] = np.arange(len(entry)) - first
    return ordinals


@compiled
def _crc_runs(data: Any, starts: Any, crcs: Any) -> None:
    for row in range(len(crcs)):
        crcs[row] = crc32c(data, starts[row], starts[row + 1])
