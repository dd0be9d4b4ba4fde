"""Batches as Spark takes them from a Python data source."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa


def spark_batch(batch: pa.RecordBatch, columns: Mapping[str, bool]) -> pa.RecordBatch:
    """Columns of a batch by their names, each with whether it is nullable in Spark's schema.

    Spark from 4.2 on refuses a column that promises more than its schema does.
    """
    chosen = batch.select(list(columns))
    schema = pa.schema([field.with_nullable(columns[field.name]) for field in chosen.schema])
    return pa.RecordBatch.from_arrays(chosen.columns, schema=schema)
