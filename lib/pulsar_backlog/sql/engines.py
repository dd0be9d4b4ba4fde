"""The small rows of a report: SQL of conf/ over one cluster's tables, in this process or by Spark.

DuckDB answers where the driver holds the tables, and where they lie in a local folder and are not large: some thirty
questions take it less than a second, and Spark's plans of them most of a small job. Elsewhere Spark runs the same SQL.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from string import Template
from typing import Any, Protocol

import duckdb
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.runs.context import JobContext, Rows
from pulsar_backlog.sql.conf_queries import duck_query, spark_query
from pulsar_backlog.sql.duck import connected, opened, rows_of
from pulsar_backlog.sql.duck_values import literal
from pulsar_backlog.sql.large_results import rows_of_reader
from pulsar_backlog.sql.own_rows import name_own_rows
from pulsar_backlog.sql.task_rows import BATCH_ROWS, TaskRows, by_pool, here, via_files, via_shuffle
from pulsar_backlog.tableio.living import GONE
from pulsar_backlog.tableio.spark_rows import in_one_chunk
from pulsar_backlog.tableio.table_logs import fit_this_process, tasks_share_disk
from pulsar_backlog.tables import TABLES, Table
from pulsar_backlog.tables.arrow import arrow_schema, ddl_schema
from pulsar_backlog.tasks.cores import cores
from pulsar_backlog.tasks.files import IntoFiles
from pulsar_backlog.tasks.shared import SharedValue, Value
from pulsar_backlog.workers import OverBatches

Row = dict[str, Any]

REPORT_TABLES = tuple(name for name in TABLES if name not in ("entries", "messages", "saved_states"))
"""Tables that queries of reports may name: they read `noted_entries`, not `entries`, and saved state is read whole."""
MAX_BYTES = 512 * 1024**2
"""Bytes of the files of all tables of the queries, up to which DuckDB reads them in a local folder."""
MAX_TASK_BYTES = 128 * 1024**2
"""The same where rows go to tasks: DuckDB sorts them on the disk, and the files of tasks take as much again."""
LIMITS = {"memory_limit": "512MiB", "threads": str(min(cores(), 4))}
"""Of DuckDB beside a driver, each of whose threads takes memory; what does not fit goes to the disk."""
_AT_ONCE = 4


class QueryEngine(Protocol):
    """Answers queries over the rows of one cluster, by the names of their tables."""

    def materialize(self, name: str, query: str) -> None:
        """Materialize a query as a relation for later queries, replacing any of that name."""

    def create_view(self, name: str, query: str) -> None:
        """Create a view for later queries, replacing any of that name; it is computed at each use."""

    def register(self, name: str, rows: pa.Table) -> None:
        """Register rows of this process as a relation for later queries."""

    def rows(self, queries: Mapping[str, str]) -> dict[str, list[Row]]:
        """The rows of each query, which are known to be few, by column."""

    def table(self, query: str, table: Table, given: Mapping[str, str]) -> Rows:
        """The rows of a query in the columns of a contract.

        Args:
            query: its columns have the names of the contract's.
            table: the contract.
            given: columns that the query does not have, each with the text that all rows have there.
        """

    def map_in_tasks(self, task_rows: TaskRows, batch_fn: OverBatches, schema: str) -> DataFrame:
        """Rows repartitioned by key, those of a task mapped by `batch_fn` to a schema in DDL; used inside the block."""

    def collect_tasks(self, task_rows: TaskRows, batch_fn: OverBatches, schema: str) -> list[Any]:
        """The few rows that tasks make so, by column.

        Args:
            task_rows: what tasks get.
            batch_fn: of a class or function that pickle finds by name.
            schema: of the rows, in DDL.
        """

    def materialize_tasks(self, name: str, task_rows: TaskRows, batch_fn: OverBatches, schema: str) -> None:
        """Materialize what such a `batch_fn` makes of rows, as a relation for later queries."""

    def share(self, value: Value) -> SharedValue[Value]:
        """A value that `batch_fn` uses: a broadcast where tasks of Spark get it."""

    def sql(self, room: str, name: str, values: Mapping[str, int | str]) -> str:
        """The query `conf/<room>/<name>.sql` in this engine's words, with values in their places.

        Args:
            room: folder of conf/.
            name: of the query.
            values: numbers, and SQL that this program made of its own words and that means the same to both engines:
                a literal, a list of them, a name, a CASE.
        """


@contextmanager
def query_engine(
    context: JobContext, names: Collection[str] = REPORT_TABLES, max_bytes: int | None = None
) -> Iterator[QueryEngine]:
    """The engine for a job's cluster; its relations go when the block ends.

    Args:
        context: of the job.
        names: the tables that queries name.
        max_bytes: instead of `MAX_BYTES`.

    Raises:
        SourceError: a bucket cannot be read; also by a query.
        UsageError: a file of a table is damaged or gone; also by a query.
    """
    tables = {name: context.small_rows(name) for name in names} if context.are_small(names) else {}
    if tables and all(rows is not None for rows in tables.values()):
        with _scratch() as scratch, connected(LIMITS) as connection:
            for name, rows in tables.items():
                connection.register(name, rows)
            yield DuckEngine(context, connection, scratch)
    elif fit_this_process(context.out, names, MAX_BYTES if max_bytes is None else min(max_bytes, MAX_BYTES)):
        tables_named = " ".join({*names, GONE.name})
        with _scratch() as scratch, opened(context.out, tables_named, limits=LIMITS, scratch=scratch) as connection:
            name_own_rows(connection, names, context.cluster, context.topics)
            yield DuckEngine(context, connection, scratch)
    else:
        with spark_engine(context, {name: context.table(name) for name in names}) as engine:
            yield engine


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder for rows on their way to tasks and back."""
    with tempfile.TemporaryDirectory(prefix="pulsar-backlog-") as folder:
        yield Path(folder)


class DuckEngine:
    """DuckDB, over a connection that knows the cluster's rows by the names of tables."""

    def __init__(self, context: JobContext, connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
        self._context, self._connection, self._folder = context, connection, folder

    def materialize(self, name: str, query: str) -> None:
        """See `QueryEngine`."""
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")

    def create_view(self, name: str, query: str) -> None:
        """See `QueryEngine`."""
        self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {query}")

    def rows(self, queries: Mapping[str, str]) -> dict[str, list[Row]]:
        """See `QueryEngine`."""
        return {name: rows_of(self._connection, query) for name, query in queries.items()}

    def register(self, name: str, rows: pa.Table) -> None:
        """See `QueryEngine`."""
        self._connection.register(name, rows)

    def table(self, query: str, table: Table, given: Mapping[str, str]) -> Rows:
        """See `QueryEngine`; rows that are many lie in a file."""
        schema = arrow_schema(table)

        def conform(rows: pa.Table) -> pa.Table:
            for name, text in given.items():
                rows = rows.append_column(name, pa.repeat(text, rows.num_rows))
            return rows.select(schema.names).cast(schema)

        reader = self._connection.execute(query).to_arrow_reader(BATCH_ROWS)
        session = (lambda: self._context.spark) if tasks_share_disk() else None
        return rows_of_reader(reader, conform, schema, self._folder, session)

    def map_in_tasks(self, task_rows: TaskRows, batch_fn: OverBatches, schema: str) -> DataFrame:
        """See `QueryEngine`."""
        spark = self._context.spark
        if tasks_share_disk():
            folder = Path(tempfile.mkdtemp(dir=self._folder))
            return via_files(self._connection, task_rows, folder, spark, batch_fn, schema)
        few = spark.createDataFrame(in_one_chunk(self._connection.execute(task_rows.query).to_arrow_table()))
        return via_shuffle(few, task_rows, self._context.partitions, batch_fn, schema)

    def collect_tasks(self, task_rows: TaskRows, batch_fn: OverBatches, schema: str) -> list[Any]:
        """See `QueryEngine`; without a session where this machine's processes run tasks."""
        pool = self._context.pool
        if pool is None:
            return self.map_in_tasks(task_rows, batch_fn, schema).collect()
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        return list(by_pool(self._connection, task_rows, folder, pool, batch_fn))

    def materialize_tasks(self, name: str, task_rows: TaskRows, batch_fn: OverBatches, schema: str) -> None:
        """See `QueryEngine`; few rows are no task."""
        arrow = ddl_schema(schema)
        made = here(self._connection, task_rows, batch_fn, arrow)
        if made is None and not tasks_share_disk():
            made = self.map_in_tasks(task_rows, batch_fn, schema).toArrow().cast(arrow)
        if made is not None:
            self._connection.register(name, made)
            return
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        files = self.collect_tasks(task_rows, IntoFiles(batch_fn, folder, arrow), "path string")
        paths = ", ".join(literal(file["path"]) for file in files)
        self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM read_parquet([{paths}])")  # noqa: S608 - quoted

    def share(self, value: Value) -> SharedValue[Value]:
        """See `QueryEngine`."""
        return SharedValue(lambda: self._context.spark, value)

    def sql(self, room: str, name: str, values: Mapping[str, int | str]) -> str:
        """See `QueryEngine`."""
        return Template(duck_query(room, name)).substitute(values)


class SparkEngine:
    """Spark, with tables and what is kept as temporary views of the session."""

    def __init__(self, context: JobContext) -> None:
        self._context = context
        self.views: dict[str, DataFrame] = {}

    def view(self, name: str, frame: DataFrame) -> None:
        """Give a frame a name."""
        frame.createOrReplaceTempView(name)
        self.views[name] = frame

    def materialize(self, name: str, query: str) -> None:
        """See `QueryEngine`."""
        self.view(name, self._context.cache(self._context.spark.sql(query)))

    def create_view(self, name: str, query: str) -> None:
        """See `QueryEngine`."""
        self.view(name, self._context.spark.sql(query))

    def frame(self, query: str) -> DataFrame:
        """The rows of a query as a frame, which outlives the relations."""
        return self._context.spark.sql(query)

    def rows(self, queries: Mapping[str, str]) -> dict[str, list[Row]]:
        """See `QueryEngine`; several at once: planning one leaves a core for the next."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return dict(zip(queries, pool.map(self._rows, queries.values()), strict=True))

    def register(self, name: str, rows: pa.Table) -> None:
        """See `QueryEngine`."""
        self.view(name, self._context.spark.createDataFrame(in_one_chunk(rows)).coalesce(1))

    def table(self, query: str, table: Table, given: Mapping[str, str]) -> Rows:
        """See `QueryEngine`."""
        rows = self._context.spark.sql(query).withColumns({name: f.lit(text) for name, text in given.items()})
        return rows.select(*(f.col(column.name).cast(column.type) for column in table.columns))

    def map_in_tasks(self, task_rows: TaskRows, batch_fn: OverBatches, schema: str) -> DataFrame:
        """See `QueryEngine`."""
        return via_shuffle(
            self._context.spark.sql(task_rows.query), task_rows, self._context.partitions, batch_fn, schema
        )

    def collect_tasks(self, task_rows: TaskRows, batch_fn: OverBatches, schema: str) -> list[Any]:
        """See `QueryEngine`."""
        return self.map_in_tasks(task_rows, batch_fn, schema).collect()

    def materialize_tasks(self, name: str, task_rows: TaskRows, batch_fn: OverBatches, schema: str) -> None:
        """See `QueryEngine`."""
        self.view(name, self._context.cache(self.map_in_tasks(task_rows, batch_fn, schema)))

    def share(self, value: Value) -> SharedValue[Value]:
        """See `QueryEngine`."""
        return SharedValue(lambda: self._context.spark, value)

    def sql(self, room: str, name: str, values: Mapping[str, int | str]) -> str:
        """See `QueryEngine`."""
        return Template(spark_query(room, name)).substitute(values)

    def _rows(self, query: str) -> list[Row]:
        return [row.asDict(recursive=True) for row in self._context.spark.sql(query).collect()]


_OPEN: list[SparkEngine] = []  # whose blocks are open, the outermost first: names of views are the session's


@contextmanager
def spark_engine(context: JobContext, tables: Mapping[str, DataFrame]) -> Iterator[SparkEngine]:
    """Spark over frames by the names of tables; within another one's block, whose relations come back afterwards."""
    _OPEN.append(engine := SparkEngine(context))
    try:
        for name, frame in tables.items():
            engine.view(name, frame)
        yield engine
    finally:
        _OPEN.remove(engine)
        outer = {name: frame for one in _OPEN for name, frame in one.views.items()}
        for name in engine.views.keys() & outer.keys():
            outer[name].createOrReplaceTempView(name)
        for name in engine.views.keys() - outer.keys():
            context.spark.catalog.dropTempView(name)
