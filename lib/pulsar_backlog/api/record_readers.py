"""What the API gives: readers of record batches, with the columns that were asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from pulsar_backlog.errors import UsageError


def record_reader(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
    """A reader of the batches that have rows, with the columns of a schema."""
    rows = (batch.select(schema.names) for batch in batches if batch.num_rows)
    return pa.RecordBatchReader.from_batches(schema, rows)


def projected(schema: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    """The columns of these names in their order; all where None are named.

    Raises:
        UsageError: there is no such column.
    """
    if columns is None:
        return schema
    unknown = [name for name in columns if name not in schema.names]
    if unknown:
        raise UsageError(f"there is no column {', '.join(unknown)}; there are {', '.join(schema.names)}")
    return pa.schema([schema.field(name) for name in columns])
