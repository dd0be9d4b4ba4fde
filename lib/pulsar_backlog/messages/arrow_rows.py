"""Rows of `messages` on their way into Arrow: bare messages and batch members, entry columns repeated by place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from pulsar_backlog.messages.kinds import SINGLE_STATES, TRANSACTIONS
from pulsar_backlog.messages.payloads import StoredPayload
from pulsar_backlog.wire.arrays import Int64s
from pulsar_backlog.wire.batch import SingleMessage
from pulsar_backlog.wire.rows import as_time

BATCH_BYTES = 8 * 1024 * 1024
"""Payload bytes of one Arrow batch; a single larger payload makes one of its own. The JVM pools buffers of up to
16 MiB; larger ones are new memory each time."""
BATCH_ROWS = 8192


@dataclass(slots=True)
class Rows:
    """Messages of one run of entries, column by column; written out and emptied when they grow large.

    Attributes:
        entries: the entries' columns of `messages`, one row each.
        schema: of `messages`.
    """

    entries: pa.RecordBatch
    schema: pa.Schema
    _at: list[int] = field(default_factory=list)
    _columns: dict[str, list[Any]] = field(default_factory=dict)
    _size: int = 0

    def add(self, at: int, outcome: str, reason: str, payload: StoredPayload | None, **own: Any) -> None:
        """Add a message of entry `at`; `own` are columns in which it differs from its entry.

        Of one `Rows`, all messages have the same own columns, but for the batch's.
        """
        values = {
            "outcome": outcome,
            "verified": outcome == "exported" and not reason,
            "reason": reason,
            "payload": payload.inline if payload else None,
            "payload_file": payload.file if payload else None,
            "payload_bytes": payload.size_bytes if payload else None,
            "payload_sha256": payload.sha256 if payload else None,
            "batch_index": -1,
            "batch_size": None,
            **own,
        }
        self._at.append(at)
        for name, value in values.items():
            self._columns.setdefault(name, []).append(value)
        self._size += payload.size_bytes if payload and payload.inline else 0

    @property
    def full(self) -> bool:
        """Whether it is time to write them out."""
        return self._size >= BATCH_BYTES or len(self._at) >= BATCH_ROWS

    def take(self) -> Iterator[pa.RecordBatch]:
        """What was added since, as one batch of `messages`, if any."""
        if not self._at:
            return
        count = len(self._at)
        # Entry by entry in order is the common case of bare messages: then nothing needs to be copied.
        same = count == self.entries.num_rows and self._at == list(range(count))
        entries = self.entries if same else self.entries.take(pa.array(self._at, pa.int64()))
        present = set(entries.schema.names)
        arrays = []
        for column in self.schema:
            if column.name in self._columns:
                arrays.append(pa.array(self._columns[column.name], column.type))
            elif column.name in present:
                arrays.append(entries.column(column.name))
            else:
                arrays.append(pa.nulls(count, column.type))
        self._at, self._columns, self._size = [], {}, 0
        yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def entry_columns(
    decoded: pa.RecordBatch, places: dict[str, pa.Array], txn_state: Int64s, batched: Int64s, schema: pa.Schema
) -> pa.RecordBatch:
    """What all messages of an entry share, as columns of `messages`; `places` are identity and location."""
    count = decoded.num_rows
    columns = dict(places)
    columns["batch_index"] = pa.array(np.full(count, -1, dtype=np.int32))
    if "state" in schema.names:
        columns["state"] = pa.array(SINGLE_STATES).take(pa.array(batched))
    if "transaction" in schema.names:
        columns["transaction"] = pa.array(TRANSACTIONS, pa.string()).take(pa.array(txn_state))
    if "encryption_key_names" in schema.names:
        columns["encryption_key_names"] = _key_names(decoded)
    for column in schema:
        if column.name not in columns and column.name in decoded.schema.names:
            columns[column.name] = as_type(decoded.column(column.name), column.type)
    return pa.RecordBatch.from_pydict(columns)


def is_empty(column: pa.Array) -> bool:
    """Whether no row has a value."""
    return bool(column.null_count == len(column))


def as_type(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values as another type; Arrow takes its time for the same one too."""
    return values if values.type == kind else values.cast(kind)


def _key_names(decoded: pa.RecordBatch) -> pa.Array:
    if "encryption_keys" not in decoded.schema.names:
        return pa.nulls(decoded.num_rows, pa.list_(pa.string()))
    keys = decoded.column("encryption_keys")
    if is_empty(keys):
        return pa.nulls(len(keys), pa.list_(pa.string()))
    names = [None if item is None else [key["key"] for key in item] for item in keys.to_pylist()]
    return pa.array(names, pa.list_(pa.string()))


def positions_of(parts: list[pa.Array], kind: pa.DataType) -> pa.Array:
    """One position for each entry, as the list that `messages` holds; `parts` are its fields in order."""
    fields = [kind.value_type.field(i) for i in range(kind.value_type.num_fields)]
    structs = pa.StructArray.from_arrays(
        [part.cast(item.type) for part, item in zip(parts, fields, strict=True)], fields=fields
    )
    offsets = pa.array(np.arange(len(structs) + 1, dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, structs).cast(kind)


def member_columns(member: SingleMessage, entry: dict[str, Any], size: int) -> dict[str, Any]:
    """What is a batch member's own; `entry` are the values of its entry, `size` the number of slots of the batch."""
    index = entry["index"]
    return {
        "batch_index": member.batch_index,
        "batch_size": size,
        "sequence_id": entry["sequence_id"] if member.sequence_id is None else member.sequence_id,
        "index": None if index is None else index - size + 1 + member.batch_index,
        "event_time": as_time(member.event_time or None),
        "properties": list(dict(member.properties).items()) or None,
        "partition_key": member.partition_key,
        "partition_key_b64_encoded": member.partition_key_b64_encoded,
        "null_partition_key": member.null_partition_key,
        "ordering_key": member.ordering_key,
        "null_value": member.null_value,
    }


def as_list(batch: pa.RecordBatch, name: str) -> list[Any]:
    """A column's values, None where the batch lacks it."""
    if name not in batch.schema.names:
        return [None] * batch.num_rows
    values: list[Any] = batch.column(name).to_pylist()
    return values
