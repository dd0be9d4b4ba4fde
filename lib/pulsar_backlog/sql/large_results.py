"""Rows that DuckDB gives: in this process, or in a file that Spark reads where they are very many."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

MAX_ROWS = 1_000_000
"""Rows of a result that this process holds."""


def rows_of_reader(
    reader: pa.RecordBatchReader,
    conform: Callable[[pa.Table], pa.Table],
    schema: pa.Schema,
    folder: Path,
    session: Callable[[], SparkSession] | None,
) -> pa.Table | DataFrame:
    """The rows of a reader in another schema.

    Args:
        reader: of the rows.
        conform: brings rows into the schema.
        schema: of the result.
        folder: where files of many rows go, as long as they are used.
        session: that reads those files; None where its tasks do not see them.
    """
    batches, rows = [], 0
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        if rows > MAX_ROWS and session is not None:
            path = Path(tempfile.mkdtemp(dir=folder)) / "rows.parquet"
            with parquet.ParquetWriter(path, schema) as writer:
                for each in chain(batches, reader):
                    writer.write_table(conform(pa.Table.from_batches([each])))
            return session().read.parquet(path.as_uri())
    return conform(pa.Table.from_batches(batches, schema=reader.schema))
