"""What each producer stored: rows of `producer_facts` of a stretch, and rows of several stretches added up.

Damaged entries are counted, under the producer that they name; what is concluded from times, from an index and from
what a producer wrote `last` rests on the others.

A producer's row is a few numbers, but how many producers there are the log decides. So a task adds rows up while it
holds few, lets them go when they are `MOST_HELD`, and whoever reads the table adds them up again.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from pulsar_backlog.facts.grouping import Groups, grouped_by
from pulsar_backlog.facts.stretch import Bools, Known, Longs, Stretch, known, present
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tables.producer_facts import TABLE

MOST_HELD = 65_536
"""Rows of producers that a task holds: some 20 MB."""

_ADDED = (
    "entries", "markers", "chunk_entries", "single_messages", "single_bytes", "batches", "batched_messages", "bytes",
    "chunk_bytes",
)  # fmt: skip
_LEAST, _MOST = ("first_ms", "first_chunk_ms"), ("last_ms", "last_chunk_ms", "largest_entry_bytes")
_LAST_OF_MOST = {
    "last": (), "last_message": (), "largest_header": ("bytes",), "largest_slice": ("bytes", "length"),
    "clock_ahead": ("ms",),
}  # fmt: skip
"""Columns of places: the last one of those where these fields are largest."""


def producer_rows(stretch: Stretch, cluster: str) -> pa.RecordBatch:
    """One row per producer of a stretch."""
    names = stretch.rows.column("producer_name")
    groups = grouped_by(names)
    message, sound = ~stretch.is_marker, ~stretch.is_damaged
    stored_ms = stretch.stored_ms & sound
    chunks, sizes = stretch.known("num_chunks_from_msg"), stretch.longs("payload_length")
    chunk = message & chunks.present & (chunks.values > 1)
    single = message & ~chunks.present & ~stretch.batch.present
    batch = message & stretch.batch.present
    every = np.ones(len(stretch), dtype=np.bool_)
    numbers: dict[str, Longs | Known] = {
        "entries": groups.counts(every),
        "markers": groups.counts(~message),
        "chunk_entries": groups.counts(chunk),
        "single_messages": groups.counts(single),
        "single_bytes": groups.sums(sizes, single),
        "batches": groups.counts(batch),
        "batched_messages": groups.sums(stretch.batch.values, batch),
        "bytes": groups.sums(stretch.lengths, every),
        "chunk_bytes": groups.sums(sizes, chunk),
        "largest_entry_bytes": groups.most(Known(stretch.lengths, every)).values,
        "first_ms": groups.least(stored_ms),
        "last_ms": groups.most(stored_ms),
        "first_chunk_ms": groups.least(stored_ms & chunk),
        "last_chunk_ms": groups.most(stored_ms & chunk),
    }
    first = groups.first()
    columns: dict[str, pa.Array] = {name: _array(values) for name, values in numbers.items()}
    columns |= _places(stretch, groups, message, sound & chunk)
    columns |= {"producer_name": names.take(pa.array(first)), "first_entry_id": pa.array(stretch.entry_ids[first])}
    return _batch(columns, {"cluster": cluster, "topic": stretch.topic, "ledger_id": stretch.ledger_id}, len(groups))


def added_up(rows: pa.RecordBatch) -> pa.RecordBatch:
    """One row per topic and producer of rows that are in the order of the log; ledger and entry are the first ones."""
    groups = grouped_by(rows.column("topic"), rows.column("producer_name"))
    first = pa.array(groups.first())
    columns: dict[str, pa.Array] = {
        name: rows.column(name).take(first)
        for name in ("cluster", "topic", "ledger_id", "first_entry_id", "producer_name", "first")
    }
    every = np.ones(rows.num_rows, dtype=np.bool_)
    columns |= {name: _array(groups.sums(known(rows.column(name)).values, every)) for name in _ADDED}
    columns |= {name: _array(groups.least(known(rows.column(name)))) for name in _LEAST}
    columns |= {name: _array(groups.most(known(rows.column(name)))) for name in _MOST}
    columns["last_entry"] = rows.column("last_entry").take(_array(groups.last(every)))
    for name, by in _LAST_OF_MOST.items():
        column = rows.column(name)
        wanted = present(column)
        last = groups.last_of_most(wanted, *(known(column.field(field)).values for field in by))
        columns[name] = column.take(_array(last))
    return _batch(columns, {}, len(groups))


def _places(stretch: Stretch, groups: Groups, message: Bools, sound_chunk: Bools) -> dict[str, pa.Array]:
    """Columns that name entries."""
    chunk_id, chunks = stretch.known("chunk_id"), stretch.known("num_chunks_from_msg")
    # A full slice: those before the last are all as large as the producer may make them.
    full = sound_chunk & chunk_id.present & (chunk_id.values < chunks.values - 1)
    # The message that came fastest tells most about the clock: queues and replication only add to its age.
    own = message & ~stretch.is_damaged & ~stretch.present("replicated_from")
    own &= stretch.publish_ms.present & stretch.broker_ms.present
    ahead_ms = stretch.publish_ms.values - stretch.broker_ms.values
    headers, slices = stretch.longs("payload_offset"), stretch.longs("payload_length")
    every = np.ones(len(stretch), dtype=np.bool_)
    at = {
        "first": (
            Known(groups.first(), np.ones(len(groups), dtype=np.bool_)),
            {"index": stretch.first_message_index & ~stretch.is_damaged},
        ),
        "last_entry": (groups.last(every), {}),
        "last": (
            groups.last(message & ~stretch.is_damaged),
            {"sequence_id": Known(stretch.longs("sequence_id"), every)},
        ),
        "last_message": (groups.last(message), {}),
        "largest_header": (groups.last_of_most(sound_chunk, headers), {"bytes": Known(headers, every)}),
        "largest_slice": (
            groups.last_of_most(full, slices, stretch.lengths),
            {"bytes": Known(slices, every), "length": Known(stretch.lengths, every)},
        ),
        "clock_ahead": (groups.last_of_most(own, ahead_ms), {"ms": Known(ahead_ms, every)}),
    }
    return {name: _place(name, stretch, row, more) for name, (row, more) in at.items()}


def _place(name: str, stretch: Stretch, row: Known, more: Mapping[str, Known]) -> pa.Array:
    """A column of structs: the entries at `row`, with what more is told of each; null where there is none."""
    values: dict[str, pa.Array] = {
        "ledger_id": pa.array(np.full(len(row.values), stretch.ledger_id)),
        "entry_id": pa.array(stretch.entry_ids[row.values]),
    }
    values |= {field: _array(Known(told.values[row.values], told.present[row.values])) for field, told in more.items()}
    kind = arrow_schema(TABLE).field(name).type
    return pa.StructArray.from_arrays(
        [values[field.name] for field in kind], fields=list(kind), mask=pa.array(~row.present)
    )


def _array(values: Longs | Known) -> pa.Array:
    if isinstance(values, Known):
        return pa.array(values.values, mask=~values.present)
    return pa.array(values)


def _batch(columns: Mapping[str, pa.Array], constants: Mapping[str, object], count: int) -> pa.RecordBatch:
    schema = arrow_schema(TABLE)
    arrays = [
        columns[field.name] if field.name in columns else pa.repeat(pa.scalar(constants[field.name], field.type), count)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
