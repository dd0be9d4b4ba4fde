"""Rows of `entry_spans`: the sizes of the entries of a stretch, as sums and as lists."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pulsar_backlog.facts import entry_numbers as of
from pulsar_backlog.facts import stretch_fold as fold
from pulsar_backlog.facts.steps import PublishTimes
from pulsar_backlog.facts.stretch import Nullable, Stretch, nullable
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tables.entry_spans import TABLE
from pulsar_backlog.wire.arrays import Int64s


def span_row(stretch: Stretch, cluster: str) -> pa.RecordBatch:
    """One row: a stretch of at least one entry."""
    schema = arrow_schema(TABLE)
    rows, sums, ids = stretch.rows, stretch.folded.sums, stretch.entry_ids
    messages = _message_counts(stretch)
    broker_ms = stretch.numbers[of.BROKER_MS]
    timed = stretch.has(of.BROKER) if sums[fold.BROKER_TIMES] < len(ids) else None
    untold = sums[fold.TOLD_TIMES] < len(ids)
    values = {
        "cluster": cluster,
        "topic": stretch.topic,
        "ledger_id": stretch.ledger_id,
        "first_entry_id": int(ids[0]),
        "last_entry_id": int(ids[-1]),
        "entries": len(ids),
        "messages": int(messages.sum()),
        "bytes": int(sums[fold.BYTES]),
        "first_publish_time_ms": int(stretch.numbers[of.WIRE_MS][0]),
        "first_broker_time_ms": int(broker_ms[0]) if stretch.flags[0] & of.BROKER else None,
    }
    lists = {
        "entry_ids": ids if sums[fold.JUMPS] else None,
        "lengths": rows.column("length"),
        "message_counts": messages,
        "publish_times_ms": rows.column("publish_time_ms"),
        "broker_times_ms": pa.array(broker_ms, mask=None if timed is None else ~timed)
        if sums[fold.BROKER_TIMES]
        else None,
        "untimed": np.flatnonzero(~stretch.told_publish_ms.present) if untold else None,
    }
    arrays = [
        _list(lists[field.name], field.type) if field.name in lists else pa.array([values[field.name]], field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def entry_ids_of(rows: pa.RecordBatch, row: int) -> Int64s:
    """The ids of the entries of a span."""
    listed = rows.column("entry_ids")[row]
    if listed.is_valid:
        return np.asarray(listed.values.to_numpy(), dtype=np.int64)
    first, last = (rows.column(name)[row].as_py() for name in ("first_entry_id", "last_entry_id"))
    return np.arange(first, last + 1)


def publish_times_of(rows: pa.RecordBatch, row: int) -> PublishTimes:
    """The publish times of a span that may be compared."""
    times = nullable(rows.column("publish_times_ms")[row].values)
    present = times.present.copy()
    untimed = rows.column("untimed")[row]
    if untimed.is_valid:
        present[untimed.values.to_numpy()] = False
    return PublishTimes(entry_ids_of(rows, row), Nullable(times.values, present))


def broker_times_of(rows: pa.RecordBatch, row: int) -> Nullable | None:
    """When the broker added the entries of a span; None when none of them tells."""
    times = rows.column("broker_times_ms")[row]
    return nullable(times.values) if times.is_valid else None


def _message_counts(stretch: Stretch) -> Int64s:
    """Messages in each entry: none in a marker, one in a bare one."""
    batch = stretch.numbers[of.BATCH_SIZE] + (stretch.flags & of.BATCH == 0)
    return np.asarray(np.maximum(batch, 0) * ~stretch.has(of.MARKER))


def _list(values: Int64s | pa.Array | None, kind: pa.ListType) -> pa.Array:
    """A column of one list."""
    if values is None:
        return pa.nulls(1, kind)
    items = pa.array(values).cast(kind.value_type)
    return pa.ListArray.from_arrays(pa.array([0, len(items)], pa.int32()), items, type=kind)
