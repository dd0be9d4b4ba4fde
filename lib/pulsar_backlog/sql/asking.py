"""The small rows of a report: SQL of conf/ over one cluster's tables, in this process or by Spark.

DuckDB answers where the driver holds the tables, and where they lie in a local folder and are not large: some thirty
questions take it less than a second, and Spark's plans of them most of a small job. Elsewhere Spark runs the same SQL.
"""

from __future__ import annotations

import os
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
from pulsar_backlog.sql.handing import Handed, filed, shuffled
from pulsar_backlog.tableio.living import BY_LEDGER, GONE
from pulsar_backlog.tableio.places import local_out
from pulsar_backlog.tableio.spark_rows import in_one_chunk
from pulsar_backlog.tableio.table_logs import log_without_spark, tasks_share_disk
from pulsar_backlog.tables import TABLES, Table
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.workers import OverBatches

Row = dict[str, Any]

ASKED = tuple(name for name in TABLES if name not in ("entries", "messages", "saved_states"))
"""Tables that queries of reports may name: of entries the scan noted what is told of them, and state is read whole."""
MAX_BYTES = 512 * 1024**2
"""Bytes of the files of all tables that are asked, up to which DuckDB reads them in a local folder."""
HANDED_BYTES = 128 * 1024**2
"""The same where rows are handed to tasks: DuckDB sorts them on the disk, and the files of tasks take as much again."""
LIMITS = {"memory_limit": "512MiB", "threads": str(min(os.cpu_count() or 1, 4))}
"""Of DuckDB beside a driver, each of whose threads takes memory; what does not fit goes to the disk."""
_AT_ONCE = 4


class Asking(Protocol):
    """Who answers queries over the rows of one cluster."""

    def keep(self, name: str, query: str) -> None:
        """Make the rows of a query a relation that other queries may name, instead of one that had the name."""

    def name(self, name: str, query: str) -> None:
        """The same of a relation that is computed each time it is asked for."""

    def hold(self, name: str, rows: pa.Table) -> None:
        """Make rows of this process a relation that queries may name."""

    def rows(self, queries: Mapping[str, str]) -> dict[str, list[Row]]:
        """The rows of each query, which are known to be few, by column."""

    def table(self, query: str, table: Table, given: Mapping[str, str]) -> Rows:
        """The rows of a query in the columns of a contract.

        Args:
            query: its columns have the names of the contract's.
            table: the contract.
            given: columns that the query does not have, each with the text that all rows have there.
        """

    def mapped(self, handed: Handed, door: OverBatches, schema: str) -> DataFrame:
        """What a door makes of the rows that each task gets, as a schema in DDL; asked for while `asking` lasts."""

    def sql(self, room: str, name: str, values: Mapping[str, int | str]) -> str:
        """The query `conf/<room>/<name>.sql` in this engine's words, with values in their places.

        Args:
            room: folder of conf/.
            name: of the query.
            values: numbers, and SQL that this program made of its own words and that means the same to both engines:
                a literal, a list of them, a name, a CASE.
        """


@contextmanager
def asking(context: JobContext, names: Collection[str] = ASKED, max_bytes: int | None = None) -> Iterator[Asking]:
    """Who answers for a job's cluster; what is kept goes when the block ends.

    Args:
        context: of the job.
        names: the tables that queries name.
        max_bytes: instead of `MAX_BYTES`.

    Raises:
        SourceError: a bucket cannot be read; also while it is asked.
        UsageError: a file of a table is damaged or gone; also while it is asked.
    """
    held = {name: context.held(name) for name in names}
    if all(rows is not None for rows in held.values()):
        with connected(LIMITS) as connection:
            for name, rows in held.items():
                connection.register(name, rows)
            yield from _duck(context, connection)
    elif _fits_this_process(context.out, names, MAX_BYTES if max_bytes is None else min(max_bytes, MAX_BYTES)):
        with opened(context.out, " ".join({*names, GONE.name}), limits=LIMITS) as connection:
            for name in names:
                connection.execute(f"CREATE TEMP VIEW {name} AS {_mine(name, literal(context.cluster))}")
            yield from _duck(context, connection)
    else:
        with spark_asking(context, {name: context.table(name) for name in names}) as asked:
            yield asked


def _mine(name: str, cluster: str) -> str:
    """SQL of the rows of a cluster, of ledgers that are not gone."""
    mine = f"SELECT * FROM memory.main.{name} WHERE cluster = {cluster}"  # noqa: S608 - quoted
    gone = f"SELECT ledger_id FROM memory.main.{GONE.name} WHERE cluster = {cluster}"  # noqa: S608 - quoted
    return f"{mine} AND ledger_id NOT IN ({gone})" if name in BY_LEDGER else mine


def _fits_this_process(out: str, names: Collection[str], max_bytes: int) -> bool:
    if local_out(out) is None:
        return False
    logs = [log_without_spark(out, TABLES[name]) for name in names]
    known = [log for log in logs if log is not None and log.is_plain]
    return len(known) == len(logs) and sum(log.size_bytes for log in known) <= max_bytes


def _duck(context: JobContext, connection: duckdb.DuckDBPyConnection) -> Iterator[Asking]:
    with tempfile.TemporaryDirectory(prefix="pulsar-backlog-") as folder:
        yield DuckAsking(context, connection, Path(folder))


class DuckAsking:
    """DuckDB, over a connection that knows the cluster's rows by the names of tables."""

    def __init__(self, context: JobContext, connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
        self._context, self._connection, self._folder = context, connection, folder

    def keep(self, name: str, query: str) -> None:
        """See `Asking`."""
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")

    def name(self, name: str, query: str) -> None:
        """See `Asking`."""
        self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {query}")

    def rows(self, queries: Mapping[str, str]) -> dict[str, list[Row]]:
        """See `Asking`."""
        return {name: rows_of(self._connection, query) for name, query in queries.items()}

    def hold(self, name: str, rows: pa.Table) -> None:
        """See `Asking`."""
        self._connection.register(name, rows)

    def table(self, query: str, table: Table, given: Mapping[str, str]) -> Rows:
        """See `Asking`."""
        found = self._connection.execute(query).to_arrow_table()
        for name, text in given.items():
            found = found.append_column(name, pa.repeat(text, found.num_rows))
        schema = arrow_schema(table)
        return found.select(schema.names).cast(schema)

    def mapped(self, handed: Handed, door: OverBatches, schema: str) -> DataFrame:
        """See `Asking`."""
        spark = self._context.spark
        if tasks_share_disk():
            folder = Path(tempfile.mkdtemp(dir=self._folder))
            return filed(self._connection, handed, folder, spark, door, schema)
        few = spark.createDataFrame(in_one_chunk(self._connection.execute(handed.query).to_arrow_table()))
        return shuffled(few, handed, self._context.partitions, door, schema)

    def sql(self, room: str, name: str, values: Mapping[str, int | str]) -> str:
        """See `Asking`."""
        return Template(duck_query(room, name)).substitute(values)


class SparkAsking:
    """Spark, with tables and what is kept as temporary views of the session."""

    def __init__(self, context: JobContext) -> None:
        self._context = context
        self.views: set[str] = set()

    def view(self, name: str, frame: DataFrame) -> None:
        """Give a frame a name."""
        frame.createOrReplaceTempView(name)
        self.views.add(name)

    def keep(self, name: str, query: str) -> None:
        """See `Asking`."""
        self.view(name, self._context.keep(self._context.spark.sql(query)))

    def name(self, name: str, query: str) -> None:
        """See `Asking`."""
        self.view(name, self._context.spark.sql(query))

    def frame(self, query: str) -> DataFrame:
        """The rows of a query; it may be asked after the names are gone."""
        return self._context.spark.sql(query)

    def rows(self, queries: Mapping[str, str]) -> dict[str, list[Row]]:
        """See `Asking`; several at once: planning one leaves a core for the next."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return dict(zip(queries, pool.map(self._rows, queries.values()), strict=True))

    def hold(self, name: str, rows: pa.Table) -> None:
        """See `Asking`."""
        self.view(name, self._context.spark.createDataFrame(in_one_chunk(rows)).coalesce(1))

    def table(self, query: str, table: Table, given: Mapping[str, str]) -> Rows:
        """See `Asking`."""
        found = self._context.spark.sql(query).withColumns({name: f.lit(text) for name, text in given.items()})
        return found.select(*(f.col(column.name).cast(column.type) for column in table.columns))

    def mapped(self, handed: Handed, door: OverBatches, schema: str) -> DataFrame:
        """See `Asking`."""
        return shuffled(self._context.spark.sql(handed.query), handed, self._context.partitions, door, schema)

    def sql(self, room: str, name: str, values: Mapping[str, int | str]) -> str:
        """See `Asking`."""
        return Template(spark_query(room, name)).substitute(values)

    def _rows(self, query: str) -> list[Row]:
        return [row.asDict(recursive=True) for row in self._context.spark.sql(query).collect()]


@contextmanager
def spark_asking(context: JobContext, tables: Mapping[str, DataFrame]) -> Iterator[SparkAsking]:
    """Spark over frames by the names of tables."""
    asked = SparkAsking(context)
    try:
        for name, frame in tables.items():
            asked.view(name, frame)
        yield asked
    finally:
        for name in asked.views:
            context.spark.catalog.dropTempView(name)
