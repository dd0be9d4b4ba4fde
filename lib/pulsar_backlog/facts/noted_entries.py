"""Rows of `noted_entries`: those entries that later jobs look at one by one, with a few columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pulsar_backlog.facts import entry_numbers as of
from pulsar_backlog.facts.digest import DIGESTED, metadata_digests
from pulsar_backlog.facts.stretch import Stretch, nullable, numbers_of, present
from pulsar_backlog.tables.arrow import arrow_schema, plain
from pulsar_backlog.tables.noted_entries import TABLE
from pulsar_backlog.wire.markers import TXN_ABORT, TXN_COMMIT

_MADE = ("broker_timestamp_ms", "has_key", "is_encrypted", "metadata_digest")
_READ = list(dict.fromkeys(
    [*(name for name in TABLE.column_names() if name not in _MADE), *DIGESTED, "broker_timestamp"]
))  # fmt: skip
"""Columns of `entries` that rows are made of; to take a few rows of the others would cost more than all of this."""


def noted_entries(stretch: Stretch) -> pa.RecordBatch | None:
    """The entries to note of a stretch, with the columns `noted_rows` reads; None when there is none."""
    is_marker = stretch.has(of.MARKER)
    wanted = stretch.has(of.DAMAGED) | (stretch.has(of.UUID | of.CHUNK_ID | of.CHUNKS) & ~is_marker)
    if is_marker.any():
        wanted |= is_marker & np.isin(numbers_of(stretch.rows.column("marker_type")), (TXN_COMMIT, TXN_ABORT))
    if not wanted.any():
        return None
    places = pa.array(np.flatnonzero(wanted))  # they are few: to look at each row of each column takes longer
    columns = {name: _taken(stretch.rows.column(name), places) for name in _READ}
    columns["is_encrypted"] = pa.array(present(_taken(stretch.rows.column("encryption_keys"), places)))
    return pa.RecordBatch.from_pydict(columns)


def _taken(column: pa.Array, places: pa.Array) -> pa.Array:
    """Some rows of a column; most columns hold nothing, to take of which takes longer than to make it."""
    return plain(pa.nulls(len(places), column.type) if column.null_count == len(column) else column.take(places))


def noted_rows(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of `noted_entries`, of entries that were found in one or more batches."""
    entries = pa.concat_batches(batches)
    broker_ms = nullable(entries.column("broker_timestamp"))
    made = {
        "broker_timestamp_ms": pa.array(broker_ms.values, mask=~broker_ms.present),
        "has_key": pa.array(present(entries.column("partition_key"))),
        "metadata_digest": pa.array(metadata_digests(entries).view(np.int64)),
    }
    schema = arrow_schema(TABLE)
    arrays = [made[field.name] if field.name in made else entries.column(field.name) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
