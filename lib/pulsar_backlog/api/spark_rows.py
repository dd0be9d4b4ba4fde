"""Batches as Spark takes them from a Python data source."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa


def spark_batch(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """Columns of a batch, all nullable: Spark from 4.2 on refuses columns that promise more than its schema does."""
    chosen = batch.select(names)
    schema = pa.schema([field.with_nullable(True) for field in chosen.schema])
    return pa.RecordBatch.from_arrays(chosen.columns, schema=schema)
