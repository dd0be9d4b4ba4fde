"""Files of new rows that tasks, or the driver, write into a table's folder before one commit makes them part of it.

Spark's Delta writer plans a query, writes row by row and asks for statistics: for `entries` that took three times the
scan. Here a task writes Parquet itself (`output/data_files.py`), and one commit adds the files and takes out those
that they replace. A file that no commit names is no part of the table, and goes when the block ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pulsar_backlog.output.data_files import FILES_DDL, Place, write_data_file
from pulsar_backlog.tableio.delta_actions import add_action
from pulsar_backlog.tableio.delta_log import DeltaLog
from pulsar_backlog.tableio.slice_files import Part, parts_of_files, rows_outside
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.table_logs import runs_session
from pulsar_backlog.tables import Table
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.workers import quiet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class StagedFiles:
    """A table, open for files of new rows.

    Attributes:
        place: where the files go.
        log: of the table, as it was when it was opened.
        table: its contract.
        replaced: its files that go with the commit.
        rewritten: files with the rows of replaced files that stay.
        offered: names of files that are part of the table or may yet become it, so that they must stay.
    """

    place: Place
    log: DeltaLog
    table: Table
    replaced: Sequence[str] = ()
    rewritten: list[Any] = field(default_factory=list)
    offered: frozenset[str] = frozenset()

    def write(self, rows: pa.Table) -> list[Any]:
        """Write rows in this process; the files."""
        return self.write_batches(rows.to_batches())

    def write_batches(self, batches: Iterable[pa.RecordBatch]) -> list[Any]:
        """The same of batches that come one after the other."""
        made = write_data_file(batches, self.place, arrow_schema(self.table), self.table)
        return [file for batch in made for file in batch.to_pylist()]

    def write_by_tasks(self, rows: DataFrame) -> list[Any]:
        """Write the rows of a frame in its tasks; the files."""
        place, table = self.place, self.table

        def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield from write_data_file(batches, place, arrow_schema(table), table)

        return rows.mapInArrow(quiet(write), FILES_DDL).collect()

    def commit(self, files: Sequence[Any], *, same_rows: bool = False) -> None:
        """Add those of `files` that are this table's (rows of `FILES_DDL`), all or none; to stay when this returns.

        A file that no row names, of a task that was lost or that another one overtook, is no part of the table.
        `same_rows` as in `DeltaLog.commit`.

        Raises:
            CommitConflictError: another writer changed the table since it was opened.
        """
        mine = [file for file in (*files, *self.rewritten) if file["table"] == self.table.name]
        if not mine and not self.replaced and self.log.version >= 0:
            return
        if mine:
            self.log.settle([file["name"] for file in mine])
        self.offered = frozenset(file["name"] for file in mine)
        try:
            adds = [add_action(file, same_rows=same_rows) for file in mine]
            self.log.commit(self.table, adds, self.replaced, same_rows=same_rows)
        except Exception:
            if not self.log.mentions(self.place.prefix):
                self.offered = frozenset()
            raise


@contextmanager
def stage(log: DeltaLog, table: Table, replaced: Sequence[str] = ()) -> Iterator[StagedFiles]:
    """The table open for new files. Files that are not part of it when the block ends are removed."""
    staged = StagedFiles(log.place(), log, table, replaced)
    try:
        yield staged
    finally:
        log.remove(staged.place.prefix, staged.offered)


@contextmanager
def stage_slice(begin: Callable[[], SparkSession], log: DeltaLog, table: Table, part: Slice) -> Iterator[StagedFiles]:
    """The same, to replace a slice: of files with rows of it, what lies outside it is written anew.

    Args:
        begin: starts the session, or finds the running one; asked where Spark has to look at the files.
        log: of the table.
        table: its contract.
        part: the slice.
    """
    parts = None if runs_session() else parts_of_files(log, table, part)
    if parts is None:
        files = _files_of(begin(), log, table, part)
    else:
        files = [path for path, how_much in parts.items() if how_much is not Part.NONE]
    with stage(log, table, files) as staged:
        if parts is not None:
            for path in (path for path in files if parts[path] is Part.SOME):
                staged.rewritten += staged.write_batches(rows_outside(log, path, table, part))
        elif files:
            staged.rewritten = staged.write_by_tasks(_frame_outside(begin(), log, table, part, files))
        yield staged
    if runs_session():  # as Spark's writer does: what is cached of the table is old now
        begin().catalog.refreshByPath(log.path)


def _frame_outside(spark: SparkSession, log: DeltaLog, table: Table, part: Slice, files: Sequence[str]) -> DataFrame:
    """The rows of files that lie outside a slice."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - of no use without a session

    from pulsar_backlog.tableio.spark_rows import with_columns_of  # noqa: PLC0415

    inside = f.coalesce(part.column(), f.lit(False))
    stay = snapshot(spark, log, table).filter(f.col("_metadata.file_name").isin(files) & ~inside)
    return with_columns_of(stay, table).select(*table.column_names())


def _files_of(spark: SparkSession, log: DeltaLog, table: Table, part: Slice) -> list[str]:
    """The table's files with rows of a slice."""
    if not log.files():
        return []
    names = snapshot(spark, log, table).filter(part.column()).select("_metadata.file_name").distinct()
    return [row["file_name"] for row in names.collect()]


def snapshot(spark: SparkSession, log: DeltaLog, table: Table) -> DataFrame:
    """The table as the log has it, with Spark's `_metadata` of the files."""
    from pulsar_backlog.tableio.parquet_frames import frame_of_files  # noqa: PLC0415 - of no use without a session

    plain = frame_of_files(spark, log, table)
    if plain is not None:
        return plain
    return spark.read.format("delta").option("versionAsOf", log.version).load(log.path)
