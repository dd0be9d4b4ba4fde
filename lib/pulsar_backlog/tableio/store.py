"""Delta tables below one folder or bucket: made from their contract, read by name, replaced slice by slice.

small, and in a folder or bucket that this process reaches     table_cache: rows in this process, one file, one commit
larger there                                                   staged_files: tasks write files, one commit adds them
elsewhere (HDFS, a folder that other machines share, `%`)      spark_log: Delta's own reader and writer
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.output.data_files import rows_in_file
from pulsar_backlog.tableio import table_cache
from pulsar_backlog.tableio.beside import beside
from pulsar_backlog.tableio.places import lost_file, table_path
from pulsar_backlog.tableio.row_counts import living_row_count
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.staged_files import StagedFiles, stage, stage_slice
from pulsar_backlog.tableio.table_logs import has_log_without_spark, log_without_spark
from pulsar_backlog.tables import TABLES, Table
from pulsar_backlog.tables.arrow import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pulsar_backlog.tableio.spark_log import SparkLog

Rows: TypeAlias = "DataFrame | pa.Table"
"""Rows of a table: those that Spark has, and those that this process has."""

_AT_ONCE = 16


@dataclass(frozen=True)
class TableStore:
    """The tables of one output.

    Attributes:
        out: folder, or an address that this program or the cluster's Hadoop knows.
        begin: starts the session, or finds the running one; asked only where Spark is needed, which is imported then.
    """

    out: str
    begin: Callable[[], SparkSession]

    def version(self, table: Table) -> int:
        """The table's Delta version, -1 when it was never written."""
        log = log_without_spark(self.out, table)
        return self._spark_log(table).version if log is None else log.version

    def exists(self, table: Table) -> bool:
        """Whether the table has been made."""
        return self.version(table) >= 0

    def size_bytes(self, table: Table) -> int | None:
        """Bytes of the table's files, without a session; None where only Spark tells them."""
        log = log_without_spark(self.out, table)
        return None if log is None else log.size_bytes

    def row_count(self, table: Table, cluster: str, gone: frozenset[int]) -> int | None:
        """The same as `living_row_count`, without a session; None also where only Spark reads the table."""
        log = log_without_spark(self.out, table)
        return None if log is None else living_row_count(log, cluster, gone)

    def is_small(self, table: Table) -> bool:
        """Whether `small_rows` has the rows of a table, by its log."""
        return table_cache.is_small(self.out, table)

    def small_rows(self, table: Table) -> pa.Table | None:
        """All rows of a small table, without a session; None where it is large or left to Spark."""
        return table_cache.small_rows(self.out, table)

    def rows_here(self, table: Table) -> pa.Table | None:
        """All rows of a table that need not be small, without a session; None where only Spark reads it, or far more.

        They are not cached: who asks for so many asks once.
        """
        rows = self.small_rows(table)
        log = log_without_spark(self.out, table) if rows is None else None
        return rows if log is None else table_cache.many_rows(log, table)

    def frame(self, table: Table) -> DataFrame:
        """A whole table; an empty frame of its schema when it was never written."""
        from pulsar_backlog.tableio.spark_tables import frame_of_table  # noqa: PLC0415 - Spark, see `begin`

        return frame_of_table(self.begin(), self.out, table)

    def create(self, table: Table) -> None:
        """Make the table from its contract when it is not there: comments, nullability, statistics.

        Raises:
            UsageError: a table of another contract is there.
        """
        here = log_without_spark(self.out, table)
        if here is not None:
            here.check(table)
            if here.version < 0:
                here.commit(table, [])
            return
        from pulsar_backlog.tableio.spark_tables import create_by_spark  # noqa: PLC0415 - Spark, see `begin`

        create_by_spark(self.begin(), self._path(table), table)

    def replace(self, table: Table, rows: Rows | Sequence[Mapping[str, Any]], part: Slice) -> int:
        """Replace exactly the rows of a slice; rows of this process without a session where the table is small.

        Writing the same rows twice gives the same table.

        Returns:
            How many rows the slice has now.

        Raises:
            ValueError: a row lies outside the slice, or the columns are not the contract's.
            CommitConflictError: another writer changed the table meanwhile.
        """
        if not isinstance(rows, pa.Table | Sequence):
            return self._replace_by_frame(table, rows, part)
        new = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows, schema=arrow_schema(table))
        if new.num_rows <= table_cache.MAX_ROWS and self._replace_small(table, new, part):
            return int(new.num_rows)
        _check_inside(table, new, part)
        with self.stage(table, part) as staged:
            if staged is None:
                from pulsar_backlog.tableio.spark_tables import frame_of_rows  # noqa: PLC0415 - Spark, see `begin`

                return self._overwrite(table, frame_of_rows(self.begin(), new, table), part)
            staged.commit(staged.write(new))
        return int(new.num_rows)

    @contextmanager
    def stage(self, table: Table, part: Slice) -> Iterator[StagedFiles | None]:
        """The table open for files that replace a slice; None where Spark's writer must write it."""
        log = log_without_spark(self.out, table)
        if log is not None:
            log.check(table)
        if log is None or not log.is_plain or log.has_files_outside_root:
            yield None
            return
        with stage_slice(self.begin, log, table, part) as staged:
            yield staged

    @contextmanager
    def stage_all(self, tables: Iterable[Table], part: Slice) -> Iterator[dict[str, StagedFiles] | None]:
        """Several tables open so, by name; None where Spark's writer must write any of them."""
        with ExitStack() as stack:
            opened = {table.name: stack.enter_context(self.stage(table, part)) for table in tables}
            writable = {name: staged for name, staged in opened.items() if staged is not None}
            yield writable if len(writable) == len(opened) else None

    def check_files(self) -> None:
        """Look whether the files of all tables are there.

        Raises:
            UsageError: one is gone, or a log is damaged.
            SourceError: the bucket cannot be read.
        """
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(self._check_files, TABLES.values()))

    def _check_files(self, table: Table) -> None:
        log = log_without_spark(self.out, table)
        listed = {file.path for file in log.files() if "/" not in file.path} if log is not None else set()
        if gone := listed and listed.difference(beside(self.out).names(f"tables/{table.name}")):
            raise lost_file(f"{self._path(table)}/{min(gone)}", "its log names it")

    def _replace_by_frame(self, table: Table, frame: DataFrame, part: Slice) -> int:
        from pulsar_backlog.tableio.spark_rows import collect_small, conform  # noqa: PLC0415 - Spark, see `begin`
        from pulsar_backlog.tableio.spark_tables import inside_or_error  # noqa: PLC0415

        rows = conform(frame, table)
        is_cached = table.name not in table_cache.UNCACHED_TABLES and has_log_without_spark(self.out)
        few = collect_small(rows) if is_cached else None
        if few is not None and self._replace_small(table, few, part):
            return int(few.num_rows)
        with self.stage(table, part) as staged:
            if staged is None:
                return self._overwrite(table, rows, part)
            files = staged.write_by_tasks(rows.filter(inside_or_error(part)))
            staged.commit(files)
            return sum(rows_in_file(file) for file in files)

    def _replace_small(self, table: Table, new: pa.Table, part: Slice) -> bool:
        """Replace a slice of a small table: one file, one commit, no session. False where the table is large."""
        log = None if table.name in table_cache.UNCACHED_TABLES else log_without_spark(self.out, table)
        if log is None:
            return False
        log.check(table)
        old = table_cache.rows_of(log, table)
        if old is None:
            return False
        new = new.cast(arrow_schema(table))
        _check_inside(table, new, part)
        others = old.filter(pc.invert(part.mask(old)))
        if log.version >= 0 and new.num_rows == 0 and others.num_rows == old.num_rows:
            return True
        rows = pa.concat_tables([others, new])
        with stage(log, table, [file.path for file in log.files()]) as staged:
            staged.commit(staged.write(rows))
        now = log_without_spark(self.out, table)
        if now is not None and now.version == log.version + 1:  # else another writer has been here meanwhile
            table_cache.cache(now.path, now.identity, rows)
        return True

    def _overwrite(self, table: Table, rows: DataFrame, part: Slice) -> int:
        """Replace a slice by Delta's own writer, which refuses rows outside it."""
        from pulsar_backlog.tableio.spark_tables import overwrite  # noqa: PLC0415 - Spark, see `begin`

        self.create(table)
        overwrite(rows, self._path(table), part)
        return self.frame(table).filter(part.column()).count()

    def _spark_log(self, table: Table) -> SparkLog:
        from pulsar_backlog.tableio.spark_log import SparkLog  # noqa: PLC0415 - Spark, see `begin`

        return SparkLog(self.begin(), self._path(table))

    def _path(self, table: Table) -> str:
        return table_path(self.out, table)


def _check_inside(table: Table, rows: pa.Table, part: Slice) -> None:
    if not pc.all(part.mask(rows), min_count=0).as_py():
        raise ValueError(f"{table.name}: a row lies outside its slice")
