"""The fold's short way, column by column: families that are one undamaged pass, without a Python object per chunk.

`chunks.healthy` says the same of one family at a time; tests hold the two together. Everything that is odd in any way,
spans ledgers, or needs its payload looked at is left to the row-wise fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.chunks.rows import ENCRYPTION_TAG_BYTES
from pulsar_backlog.chunks.sureness import CERTAIN_REASON
from pulsar_backlog.wire.arrays import Int64s
from pulsar_backlog.wire.metadata import END_OF_TIME_MS

Mask = npt.NDArray[np.bool_]

_FAMILY = ("topic", "chunk_uuid")
_SHARED = (
    "publish_time_ms", "num_chunks", "total_bytes", "producer_name", "sequence_id", "compression",
    "uncompressed_size", "encrypted", "metadata_digest", "ledger_id",
)  # fmt: skip
"""Equal on all rows of a family that goes the short way."""
_OF_THE_FIRST = ("topic", "chunk_uuid", "publish_time_ms", "producer_name", "sequence_id")
_MANIFEST = {"offset": "payload_offset", "length": "payload_length"}


@dataclass(frozen=True)
class Families:
    """Rows of whole families, each together and in position order.

    Attributes:
        rows: the rows.
        first: place of each family's first row.
        count: rows of each family.
    """

    rows: pa.RecordBatch
    first: Int64s
    count: Int64s

    def chosen(self, mask: Mask) -> pa.RecordBatch:
        """Rows of some families."""
        return self.rows.filter(pa.array(np.repeat(mask, self.count)))


def whole_families(batches: Iterable[pa.RecordBatch]) -> Iterator[Families]:
    """Batches cut anew so that no family lies in two; a family's rows are adjacent in the stream."""
    open_batches: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows == 0:
            continue
        joined = _joined([*open_batches, batch])
        first = _first_rows(joined)
        if len(first) > 1:
            yield _families(joined.slice(0, int(first[-1])), first[:-1])
        open_batches = [joined.slice(int(first[-1]))]
    if open_batches:
        rest = _joined(open_batches)
        yield _families(rest, _first_rows(rest))


def healthy(families: Families) -> Mask:
    """Which families are exactly one undamaged pass that needs no look at its payload."""
    rows, first, count = families.rows, families.first, families.count
    place = np.arange(rows.num_rows) - np.repeat(first, count)
    sound = (_numbers(rows, "chunk_id", -1) == place) & (_numbers(rows, "num_chunks", -1) == np.repeat(count, count))
    sound &= _mask(pc.equal(rows.column("checksum_state"), "valid")) & _mask(
        pc.is_null(rows.column("num_messages_in_batch"))
    )
    for name in _SHARED:
        sound &= _same_as_before(rows.column(name)) | (place == 0)
    length = _slice_bytes(rows)
    last = first + count - 1
    inner = place < np.repeat(count - 1, count)
    sound &= ~inner | (length == np.repeat(length[first], count))
    family = np.logical_and.reduceat(sound, first)
    family &= (length[last] > 0) & (length[last] <= length[first])
    total = length[first] * (count - 1) + length[last]
    family &= _numbers(rows, "total_bytes", -1)[first] == total
    compressed, stated = _mask(pc.is_valid(_codec(rows)))[first], _numbers(rows, "uncompressed_size", 0)[first]
    family &= compressed | (stated == 0) | (stated == total)
    time_ms = _numbers(rows, "publish_time_ms", -1)[first]
    family &= (time_ms >= 0) & (time_ms < END_OF_TIME_MS)
    family &= _mask(pc.not_equal(rows.column("chunk_uuid"), ""))[first]
    plain = _mask(pc.is_null(_codec(rows))) | _mask(rows.column("encrypted"))
    return np.asarray(family & plain[first], dtype=np.bool_)


def healthy_publications(families: Families, mask: Mask, cluster: str, schema: pa.Schema) -> pa.RecordBatch:
    """Publications of the healthy families, with the roles of their copies."""
    rows = families.chosen(mask)
    count = families.count[mask]
    ends = np.cumsum(count)
    first, last = ends - count, ends - 1
    heads, tails = rows.take(pa.array(first)), rows.take(pa.array(last))
    size = len(count)
    counts = pa.array(count.astype(np.int32))
    entry_first, entry_last = _numbers(heads, "entry_id", 0), _numbers(tails, "entry_id", 0)
    offsets = pa.array(np.concatenate([[0], ends]).astype(np.int32))
    encrypted = heads.column("encrypted")
    columns = {
        **{name: heads.column(name) for name in _OF_THE_FIRST},
        "publish_time": pc.multiply(heads.column("publish_time_ms"), 1000).view(pa.timestamp("us", tz="UTC")),
        "first_ledger_id": heads.column("ledger_id"), "first_entry_id": heads.column("entry_id"),
        "last_ledger_id": tails.column("ledger_id"), "last_entry_id": tails.column("entry_id"),
        "num_chunks": counts, "copies": counts, "present_chunks": counts,
        "missing_chunk_count": pa.array(np.zeros(size, dtype=np.int32)),
        "total_bytes": heads.column("total_bytes"), "stored_bytes": heads.column("total_bytes"),
        "uncompressed_bytes": heads.column("uncompressed_size"), "compression": _codec(heads), "encrypted": encrypted,
        "span_entries": pa.array(entry_last + 1 - entry_first), "span_ms": _span_ms(heads, tails),
        "decode_state": pc.if_else(encrypted, "encrypted", "not_needed"),
        "ledgers": _lists(pa.array(np.arange(size + 1, dtype=np.int32)), heads.column("ledger_id"), schema, "ledgers"),
        "manifest": _structs(rows, offsets, schema, "manifest", _MANIFEST),
        "roles": _structs(rows, offsets, schema, "roles", {}),
    }  # fmt: skip
    constants: dict[str, Any] = {
        "cluster": cluster, "state": "whole", "rebuildable": True, "sureness": "certain",
        "reason": CERTAIN_REASON["whole"], "flags": [], "missing_chunk_ids": [], "missing_bytes": [],
    }  # fmt: skip
    arrays = []
    for field in schema:
        if field.name in columns:
            arrays.append(columns[field.name].cast(field.type))
        elif field.name in constants:
            arrays.append(pa.repeat(pa.scalar(constants[field.name], field.type), size))
        else:
            arrays.append(pa.nulls(size, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _first_rows(rows: pa.RecordBatch) -> Int64s:
    """Places where a family begins."""
    begins = np.zeros(rows.num_rows, dtype=np.bool_)
    for name in _FAMILY:
        begins |= ~_same_as_before(rows.column(name))
    begins[0] = True
    return np.flatnonzero(begins)


def _families(rows: pa.RecordBatch, first: Int64s) -> Families:
    return Families(rows, first, np.diff(np.append(first, rows.num_rows)))


def _same_as_before(column: pa.Array) -> Mask:
    """Whether each value is that of the row before, null being equal to null; True for the first."""
    now, before = column[1:], column[:-1]
    equal = pc.fill_null(pc.equal(now, before), False)
    both_null = pc.and_(pc.is_null(now), pc.is_null(before))
    return np.concatenate([[True], _mask(pc.or_(equal, both_null))])


def _slice_bytes(rows: pa.RecordBatch) -> Int64s:
    """Bytes of the message in each row: without the tag where it is encrypted."""
    return _numbers(rows, "payload_length", 0) - np.where(_mask(rows.column("encrypted")), ENCRYPTION_TAG_BYTES, 0)


def _codec(rows: pa.RecordBatch) -> pa.Array:
    column = rows.column("compression")
    return pc.if_else(pc.fill_null(pc.equal(column, "NONE"), False), pa.scalar(None, column.type), column)


def _span_ms(heads: pa.RecordBatch, tails: pa.RecordBatch) -> pa.Array:
    span = pc.subtract(tails.column("broker_timestamp_ms"), heads.column("broker_timestamp_ms"))
    return pc.max_element_wise(pc.fill_null(span, 0), 0)


def _structs(rows: pa.RecordBatch, offsets: pa.Array, schema: pa.Schema, name: str, other: dict[str, str]) -> pa.Array:
    """Lists of structs, one struct for each row; fields are columns of the same or another name."""
    kind = schema.field(name).type.value_type
    fields = [kind.field(i) for i in range(kind.num_fields)]
    used = pa.repeat(pa.scalar("used"), rows.num_rows)
    parts = [used if f.name == "role" else rows.column(other.get(f.name, f.name)).cast(f.type) for f in fields]
    return _lists(offsets, pa.StructArray.from_arrays(parts, fields=fields), schema, name)


def _lists(offsets: pa.Array, values: pa.Array, schema: pa.Schema, name: str) -> pa.Array:
    kind = schema.field(name).type
    return pa.ListArray.from_arrays(offsets, values, type=kind)


def _numbers(rows: pa.RecordBatch, name: str, absent: int) -> Int64s:
    column = rows.column(name).cast(pa.int64())
    return np.asarray(pc.fill_null(column, absent).to_numpy(zero_copy_only=False), dtype=np.int64)


def _mask(column: pa.Array) -> Mask:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.bool_)
