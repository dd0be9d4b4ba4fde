"""What each producer stored: rows of `producer_facts` of a stretch, and rows of several stretches added up.

Damaged entries are counted, under the producer that they name; what is concluded from times, from an index and from
what a producer wrote `last` rests on the others.

A producer's row is a few numbers, but how many producers there are the log decides. So a task adds rows up while it
holds few, lets them go when they are `MOST_HELD`, and whoever reads the table adds them up again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from pulsar_backlog.facts import entry_numbers as of
from pulsar_backlog.facts import producer_fold as fold
from pulsar_backlog.facts.grouping import grouped_by
from pulsar_backlog.facts.stretch import Bools, Nullable, Stretch, nullable, numbers_of, present
from pulsar_backlog.tables.arrow import arrow_schema, plain
from pulsar_backlog.tables.producer_facts import TABLE
from pulsar_backlog.wire.arrays import Int64s

MOST_HELD = 65_536
"""Rows of producers that a task holds: some 20 MB."""

_ADDED = (
    "entries", "markers", "chunk_entries", "single_messages", "single_bytes", "batches", "batched_messages", "bytes",
    "chunk_bytes",
)  # fmt: skip
_SUMS = (*_ADDED, "largest_entry_bytes")
"""As the loop counts them."""
_TIMES = ("first_ms", "last_ms", "first_chunk_ms", "last_chunk_ms")
_NEVER = np.iinfo(np.int64).max
_LEAST, _MOST = ("first_ms", "first_chunk_ms"), ("last_ms", "last_chunk_ms", "largest_entry_bytes")
_LAST_OF_MOST = {
    "last": (), "last_message": (), "largest_header": ("bytes",), "largest_slice": ("bytes", "length"),
    "clock_ahead": ("ms",),
}  # fmt: skip
"""Columns of places: the last one of those where these fields are largest."""
_PLACES = {
    "first": fold.FIRST, "last_entry": fold.LAST_ENTRY, "last": fold.LAST, "last_message": fold.LAST_MESSAGE,
    "largest_header": fold.HEADER, "largest_slice": fold.SLICE, "clock_ahead": fold.AHEAD,
}  # fmt: skip
"""Columns of places, and where the loop has them."""


def producer_rows(stretch: Stretch, cluster: str) -> pa.RecordBatch:
    """One row per producer of a stretch."""
    names = stretch.rows.column("producer_name")
    groups = grouped_by(names)
    numbers = stretch.numbers
    sums = np.zeros((len(groups), fold.SUM_COUNT), dtype=np.int64)
    times = np.tile(np.array([_NEVER, -_NEVER] * 2), (len(groups), 1))
    places = np.full((len(groups), fold.PLACE_COUNT), -1, dtype=np.int64)
    fold.fold_producers(groups.codes, stretch.flags, numbers, sums, times, places)
    columns: dict[str, pa.Array] = {name: pa.array(sums[:, at]) for at, name in enumerate(_SUMS)}
    for at, name in enumerate(_TIMES):
        columns[name] = _array(Nullable(times[:, at], np.abs(times[:, at]) != _NEVER))
    columns |= _places(stretch, numbers, places)
    first = places[:, fold.FIRST]
    columns["producer_name"] = plain(names.take(pa.array(first)))
    columns["first_entry_id"] = pa.array(stretch.entry_ids[first])
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
    columns |= {name: _array(groups.sums(nullable(rows.column(name)).values, every)) for name in _ADDED}
    columns |= {name: _array(groups.least(nullable(rows.column(name)))) for name in _LEAST}
    columns |= {name: _array(groups.most(nullable(rows.column(name)))) for name in _MOST}
    columns["last_entry"] = rows.column("last_entry").take(_array(groups.last(every)))
    for name, by in _LAST_OF_MOST.items():
        column = rows.column(name)
        wanted = present(column)
        last = groups.last_of_most(wanted, *(nullable(column.field(field)).values for field in by))
        columns[name] = column.take(_array(last))
    return _batch(columns, {}, len(groups))


def _places(stretch: Stretch, numbers: Sequence[Int64s], places: Int64s) -> dict[str, pa.Array]:
    """Columns that name entries."""
    rows = {name: np.maximum(places[:, at], 0) for name, at in _PLACES.items()}
    first, ahead = rows["first"], rows["clock_ahead"]
    ahead_ms = numbers[of.PUBLISH_MS][ahead] - numbers[of.BROKER_MS][ahead]
    columns: dict[str, dict[str, pa.Array]] = {
        "first": {"index": _array(stretch.first_message_index(first))},
        "last": {"sequence_id": pa.array(numbers_of(stretch.rows.column("sequence_id"))[rows["last"]])},
        "largest_header": {"bytes": pa.array(numbers[of.PAYLOAD_OFFSET][rows["largest_header"]])},
        "largest_slice": {
            "bytes": pa.array(numbers[of.PAYLOAD_LENGTH][rows["largest_slice"]]),
            "length": pa.array(numbers[of.LENGTH][rows["largest_slice"]]),
        },
        "clock_ahead": {"ms": pa.array(ahead_ms)},
    }
    return {
        name: _place(name, stretch, rows[name], places[:, at] < 0, columns.get(name, {}))
        for name, at in _PLACES.items()
    }


def _place(name: str, stretch: Stretch, rows: Int64s, absent: Bools, more: Mapping[str, pa.Array]) -> pa.Array:
    """A column of structs: the entries at `rows`, with what more is told of each; null where there is none."""
    values: dict[str, pa.Array] = {
        "ledger_id": pa.array(np.full(len(rows), stretch.ledger_id)),
        "entry_id": pa.array(stretch.entry_ids[rows]),
    }
    values |= more
    kind = arrow_schema(TABLE).field(name).type
    fields = [values[field.name] for field in kind]
    return pa.StructArray.from_arrays(fields, fields=list(kind), mask=pa.array(absent))


def _array(values: Int64s | Nullable) -> pa.Array:
    if isinstance(values, Nullable):
        return pa.array(values.values, mask=~values.present)
    return pa.array(values)


def _batch(columns: Mapping[str, pa.Array], constants: Mapping[str, object], count: int) -> pa.RecordBatch:
    schema = arrow_schema(TABLE)
    arrays = [
        columns[field.name] if field.name in columns else pa.repeat(pa.scalar(constants[field.name], field.type), count)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
