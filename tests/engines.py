"""Both engines that answer queries of conf/, over rows of tests: each query is asked of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.sql import SparkSession

from pulsar_backlog.options import Options
from pulsar_backlog.runs.context import JobContext, Rows
from pulsar_backlog.runs.runs import now
from pulsar_backlog.sql.duck import connected
from pulsar_backlog.sql.engines import DuckEngine, QueryEngine, spark_engine

ENGINES = ("duckdb", "spark")


def job_context(spark: SparkSession | None = None, out: Path | str = "") -> JobContext:
    """Of the job `job` on the cluster `c`; where no session is given, none is asked for."""

    def begin() -> SparkSession:
        assert spark is not None, "the session was asked for"
        return spark

    return JobContext(begin, "job", Options(out=str(out), cluster="c"), now())


@contextmanager
def asked_of(engine: str, context: JobContext, tables: Mapping[str, pa.Table]) -> Iterator[QueryEngine]:
    """Who answers about rows of tables."""
    if engine == "spark":
        frames = {name: context.spark.createDataFrame(rows) for name, rows in tables.items()}
        with context.resources, spark_engine(context, frames) as asked:
            yield asked
        return
    with connected() as connection, TemporaryDirectory() as folder:
        for name, rows in tables.items():
            connection.register(name, rows)
        yield DuckEngine(context, connection, Path(folder))


def listed(rows: Rows) -> list[dict[str, object]]:
    """Rows as dictionaries, times as UTC."""
    table = rows if isinstance(rows, pa.Table) else rows.toArrow()
    return list(table.to_pylist())


def as_it_comes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch, whole, as a row."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.RecordBatch.from_pydict({"batch": pa.array([sink.getvalue().to_pybytes()], pa.binary())})
