"""Rows of several tables in one frame, as packed Arrow batches: what they are made of is read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.frames.schemas import spark_schema
from pulsar_backlog.tables import TABLES
from pulsar_backlog.workers import quiet

PACKED_DDL = "table string not null, rows binary not null"


def packed(rows: Iterable[tuple[str, pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """Batches, each with the name of its table, as rows of `PACKED_DDL`."""
    for table, batch in rows:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.RecordBatch.from_pylist([{"table": table, "rows": sink.getvalue().to_pybytes()}])


def opened(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.Table]]:
    """The table and rows of each packed batch."""
    for table, rows in zip(batch.column("table").to_pylist(), batch.column("rows").to_pylist(), strict=True):
        yield table, pa.ipc.open_stream(rows).read_all()


def unpacked(frame: DataFrame, table: str) -> DataFrame:
    """The rows of one table."""

    def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for _, rows in opened(batch):
                yield from rows.to_batches()

    rows = frame.filter(f.col("table") == table)
    return rows.mapInArrow(quiet(unpack), spark_schema(TABLES[table].ddl()))
