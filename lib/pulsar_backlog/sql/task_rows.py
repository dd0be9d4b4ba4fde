"""Rows of a query for tasks: repartitioned by key, sorted within.

Spark shuffles and sorts them. Where DuckDB has the rows it writes those of each task to a file: the first shuffle of a
young JVM, and its way to Python and back, take longer than the tasks of an audit of a few hundred thousand rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pulsar_backlog.tasks.cores import cores
from pulsar_backlog.tasks.files import FileTask
from pulsar_backlog.tasks.pool import TaskPool
from pulsar_backlog.workers import OverBatches, quiet

BATCH_ROWS = 65_536
TASK_ROWS = 262_144
"""Rows of one task, about, where there are more of them than cores make small ones."""
MIN_TASK_ROWS = 1024
"""Rows for which it is worth a task of its own."""
FEW_ROWS = 16_384
"""Rows up to which this process is their only task, where DuckDB has them."""


@dataclass(frozen=True)
class TaskRows:
    """What tasks get.

    Attributes:
        query: whose rows.
        by: columns; rows that are equal in them go to one task and follow each other there.
        order: columns by which these are sorted.
        limit_relation: a relation that has as many rows, or more, and is counted more quickly; or None.
    """

    query: str
    by: tuple[str, ...]
    order: tuple[str, ...]
    limit_relation: str | None = None


def via_shuffle(rows: DataFrame, task_rows: TaskRows, partitions: int, batch_fn: OverBatches, schema: str) -> DataFrame:
    """What `batch_fn` makes of the rows of each task, shuffled and sorted by Spark."""
    # Spark sorts by eight bytes of the first column; all topics begin with the same eight.
    keyed = rows.withColumn("_key", f.xxhash64(*task_rows.by)).repartition(partitions, "_key")
    ordered = keyed.sortWithinPartitions("_key", *task_rows.by, *task_rows.order)
    return ordered.drop("_key").mapInArrow(quiet(batch_fn), schema)


def via_files(
    connection: duckdb.DuckDBPyConnection,
    task_rows: TaskRows,
    folder: Path,
    spark: SparkSession,
    batch_fn: OverBatches,
    schema: str,
) -> DataFrame:
    """The same, the rows of each task in a file below a folder that all tasks see; to be used while it is there."""
    paths = _files(connection, task_rows, folder)

    def read(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column("id").to_pylist():
                with pa.memory_map(paths[number]) as file:
                    yield from batch_fn(pa.ipc.open_stream(file))

    return spark.range(0, len(paths), 1, max(len(paths), 1)).mapInArrow(quiet(read), schema)


def here(
    connection: duckdb.DuckDBPyConnection, task_rows: TaskRows, batch_fn: OverBatches, schema: pa.Schema
) -> pa.Table | None:
    """What `batch_fn` makes of the rows in this process, without a session; None where they are more than few."""
    if _row_count(connection, task_rows) > FEW_ROWS:
        return None
    order = ", ".join((*task_rows.by, *task_rows.order))
    cursor = connection.execute(f"SELECT * FROM (\n{task_rows.query}\n) ORDER BY {order}")  # noqa: S608 - own words
    reader = cursor.to_arrow_reader(BATCH_ROWS)
    return pa.Table.from_batches(list(batch_fn(reader)), schema=schema)


def by_pool(
    connection: duckdb.DuckDBPyConnection, task_rows: TaskRows, folder: Path, pool: TaskPool, batch_fn: OverBatches
) -> list[Mapping[str, Any]]:
    """The same by processes of this machine: rows of all tasks, which are few.

    Args:
        connection: whose query it is.
        task_rows: what tasks get.
        folder: where their rows go; it may be removed afterwards.
        pool: of the processes.
        batch_fn: what pickle finds by name; it makes few rows.
    """
    task, paths = FileTask(batch_fn), _files(connection, task_rows, folder)
    results = pool.run(task, paths) if len(paths) > 1 else map(task, paths)
    return [row for rows in results for row in rows]


def _row_count(connection: duckdb.DuckDBPyConnection, task_rows: TaskRows) -> int:
    """How many rows there are, at most. To ask these queries twice takes less than to keep the answer between."""
    relation = task_rows.limit_relation or f"(\n{task_rows.query}\n)"
    query = f"SELECT count(*) FROM {relation}"  # noqa: S608 - own words
    (rows,) = connection.execute(query).fetchone() or (0,)
    return int(rows)


def _files(connection: duckdb.DuckDBPyConnection, task_rows: TaskRows, folder: Path) -> list[str]:
    """A file for each task, of Arrow's batches; sorted once, whatever the number of tasks."""
    rows = _row_count(connection, task_rows)
    tasks = max(min(rows // MIN_TASK_ROWS, cores()), rows // TASK_ROWS, 1)
    key, order = ", ".join(task_rows.by), ", ".join((*task_rows.by, *task_rows.order))
    numbered = f"SELECT *, hash({key}) % {tasks} AS task FROM (\n{task_rows.query}\n)"  # noqa: S608 - own words
    cursor = connection.execute(f"{numbered} ORDER BY task, {order}")
    paths = [str(folder / f"{task}.arrow") for task in range(tasks)]
    with ExitStack() as stack:
        reader = cursor.to_arrow_reader(BATCH_ROWS)
        schema = reader.schema.remove(reader.schema.get_field_index("task"))
        streams = [stack.enter_context(pa.ipc.new_stream(path, schema)) for path in paths]
        for batch in reader:
            runs = pc.run_end_encode(batch.column("task"))
            start = 0
            for task, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
                streams[task].write_batch(batch.slice(start, end - start).drop_columns(["task"]))
                start = end
    return paths
