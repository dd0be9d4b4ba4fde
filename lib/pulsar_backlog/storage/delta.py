"""Delta tables: made from their contract, read by name, written slice by slice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from pulsar_backlog.errors import UsageError
from pulsar_backlog.output.data_files import FILES_DDL, write_data_file
from pulsar_backlog.storage.commits import DirectWrite, TableLog, open_direct
from pulsar_backlog.storage.places import local_out, table_path
from pulsar_backlog.tables import TABLES, Table
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.workers import quiet


@cache
def schema_of(table: Table) -> StructType:
    """The contract as a Spark schema."""
    schema = cast(StructType, StructType.fromDDL(table.ddl()))
    for field, column in zip(schema.fields, table.columns, strict=True):
        field.metadata = {"comment": column.comment}
    return schema


def exists(spark: SparkSession, out: str, table: Table) -> bool:
    """Whether the table has been made."""
    return table_version(spark, out, table) >= 0


def read_table(spark: SparkSession, out: str, table: Table) -> DataFrame:
    """A whole table; an empty frame of its schema when it was never written."""
    if not exists(spark, out, table):
        return spark.createDataFrame([], schema_of(table))
    return spark.read.format("delta").load(table_path(out, table))


def table_version(spark: SparkSession, out: str, table: Table) -> int:
    """The table's Delta version, -1 when it was never written.

    Asked of Delta's log itself: its history is a Spark job, and an audit asks this dozens of times.
    """
    return TableLog(spark, table_path(out, table)).version


def conform(df: DataFrame, table: Table) -> DataFrame:
    """The frame's columns in the contract's order; never casts.

    Raises:
        ValueError: every difference in names and types at once.
    """
    wanted = {field.name: field.dataType.simpleString() for field in schema_of(table).fields}
    found = dict(df.dtypes)
    faults = [f"missing {name} {kind}" for name, kind in wanted.items() if name not in found]
    faults += [f"unknown {name} {kind}" for name, kind in found.items() if name not in wanted]
    faults += [
        f"{name} is {found[name]}, not {kind}" for name, kind in wanted.items() if name in found and found[name] != kind
    ]
    if faults:
        raise ValueError(f"{table.name}: {'; '.join(faults)}")
    return df.select(*table.column_names())


def replace_slice(df: DataFrame, out: str, table: Table, part: Column) -> None:
    """Replace exactly the rows of `table` for which `part` holds with `df`.

    Every row of `df` must lie in the slice (others are refused). Writing the same frame twice gives the same
    table. `part` is a Column, never text: names of topics come from outside.
    """
    spark = df.sparkSession
    rows = conform(df, table)
    with direct_write(spark, out, table, part) as direct:
        if direct is None:
            make_table(spark, out, table)
            rows.writeTo(f"delta.`{_quoted(table_path(out, table))}`").overwrite(part)
        else:
            direct.commit(_written(rows.filter(_only(part)), direct).collect())


def replace_rows(spark: SparkSession, rows: Sequence[Mapping[str, Any]], out: str, table: Table, part: Column) -> None:
    """The same for rows that the driver holds, which all lie in the slice; without a Spark job where that can be."""
    made = pa.Table.from_pylist(rows, schema=arrow_schema(table))
    with direct_write(spark, out, table, part) as direct:
        if direct is None:
            replace_slice(spark.createDataFrame(made), out, table, part)
        else:
            files = write_data_file(made.to_batches(), direct.place, arrow_schema(table), table)
            direct.commit([file for batch in files for file in batch.to_pylist()])


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
    """The table open for files that tasks write, or None where Spark's writer must do it.

    That is where tasks may run on another host than the driver, where the table is not on the local disk, and where
    rows of the slice `part` exist and must go in the same commit.
    """
    folder = local_out(table_path(out, table))
    if folder is None or not str(spark.sparkContext.master).startswith("local"):
        yield None
        return
    log = TableLog(spark, str(folder))
    if log.version >= 0:
        _check_contract(log, str(folder), table)
    if log.has_files and not spark.read.format("delta").load(str(folder)).filter(part).isEmpty():
        yield None
        return
    with open_direct(folder, log, table, schema_of(table)) as direct:
        yield direct


def make_table(spark: SparkSession, out: str, table: Table) -> None:
    """Create the table from its contract when it is not there: comments, nullability, statistics.

    Raises:
        UsageError: a table of another contract is there.
    """
    path = table_path(out, table)
    log = TableLog(spark, path)
    if log.version >= 0:
        _check_contract(log, path, table)
    else:
        log.commit(table, schema_of(table), [])


def register_tables(spark: SparkSession, out: str) -> None:
    """Make every table a temporary view of its own name; empty where it was never written."""
    for table in TABLES.values():
        read_table(spark, out, table).createOrReplaceTempView(table.name)


def _check_contract(log: TableLog, path: str, table: Table) -> None:
    found, wanted = ({field.name: field.dataType for field in schema} for schema in (log.schema, schema_of(table)))
    if found != wanted:
        raise UsageError(
            f"{path} was written by another version of pulsar-backlog (its columns differ): give --out a new folder, "
            "or delete that one and audit again"
        )


def _only(part: Column) -> Column:
    """True for rows of the slice; any other row stops the write."""
    return f.when(part, f.lit(True)).otherwise(f.raise_error(f.lit("a row lies outside its slice")).cast("boolean"))


def _written(rows: DataFrame, direct: DirectWrite) -> DataFrame:
    """The files into which the tasks of `rows` wrote them."""
    place, table = direct.place, direct.table

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from write_data_file(batches, place, arrow_schema(table), table)

    return rows.mapInArrow(quiet(write), FILES_DDL)


def _quoted(path: str) -> str:
    return path.replace("`", "``")
