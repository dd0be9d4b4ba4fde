"""Tables open for files that tasks write themselves; rows of a slice that are there already go with the same commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from pulsar_backlog.output.data_files import FILES_DDL, write_data_file
from pulsar_backlog.tableio.commits import DirectWrite, open_direct
from pulsar_backlog.tableio.delta_log import DeltaLog
from pulsar_backlog.tableio.places import table_path
from pulsar_backlog.tableio.plain_files import frame_of_files
from pulsar_backlog.tableio.table_logs import own_log
from pulsar_backlog.tables import Table
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.workers import quiet


@contextmanager
def direct_writes(
    spark: SparkSession, out: str, tables: Iterable[Table], part: Column
) -> Iterator[dict[str, DirectWrite] | None]:
    """Several tables open as by `direct_write`, by name; None where it is None for any of them."""
    with ExitStack() as stack:
        opened = {table.name: stack.enter_context(direct_write(spark, out, table, part)) for table in tables}
        found = {name: direct for name, direct in opened.items() if direct is not None}
        yield found if len(found) == len(opened) else None


@contextmanager
def direct_write(spark: SparkSession, out: str, table: Table, part: Column) -> Iterator[DirectWrite | None]:
    """The table open for files that tasks write, or None where Spark's writer must do it: see `own_log`.

    Rows of the slice `part` that are there go in the same commit.
    """
    log = own_log(out, table)
    if log is not None:
        log.check(table)
    if log is None or not log.is_plain or log.leads_elsewhere:
        yield None
        return
    touched = _touched(spark, log, table, part)
    with open_direct(log, table, touched) as direct:
        if touched:
            mine = f.col("_metadata.file_name").isin(touched)
            stay = _as_it_was(spark, log, table).filter(mine & ~f.coalesce(part, f.lit(False)))
            direct.kept = written(stay.select(*table.column_names()), direct).collect()
        yield direct
    # As Spark's writer does: what is cached of the table is old now.
    spark.catalog.refreshByPath(table_path(out, table))


def _touched(spark: SparkSession, log: DeltaLog, table: Table, part: Column) -> list[str]:
    """The table's files with rows of a slice."""
    if not log.files():
        return []
    found = _as_it_was(spark, log, table).filter(part).select("_metadata.file_name").distinct().collect()
    return [row["file_name"] for row in found]


def _as_it_was(spark: SparkSession, log: DeltaLog, table: Table) -> DataFrame:
    plain = frame_of_files(spark, log, table)
    if plain is not None:
        return plain
    return spark.read.format("delta").option("versionAsOf", log.version).load(log.path)


def written(rows: DataFrame, direct: DirectWrite) -> DataFrame:
    """The files into which the tasks of `rows` wrote them."""
    place, table = direct.place, direct.table

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from write_data_file(batches, place, arrow_schema(table), table)

    return rows.mapInArrow(quiet(write), FILES_DDL)
