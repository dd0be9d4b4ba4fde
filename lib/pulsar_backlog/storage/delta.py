"""Delta tables: made from their contract, read by name, written slice by slice."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructType

from pulsar_backlog.errors import UsageError
from pulsar_backlog.tables import TABLES, Table

SCHEMA_PROPERTY = "pulsar_backlog.contract"
"""Table property that holds the contract's version."""
CONTRACT_VERSION = "1"


def table_path(out: str, table: Table) -> str:
    """Where a table lies: a folder, or an address the cluster's Hadoop knows."""
    return f"{out.rstrip('/')}/tables/{table.name}"


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
    none = spark._jvm.scala.Option.empty()  # type: ignore[union-attr]
    return int(delta_log(spark, out, table).update(False, none, none).version())


def delta_log(spark: SparkSession, out: str, table: Table) -> Any:
    """Delta's own log of the table, a Java object."""
    delta = spark._jvm.org.apache.spark.sql.delta  # type: ignore[union-attr]
    return delta.DeltaLog.forTable(spark._jsparkSession, table_path(out, table))


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

    Every row of `df` must lie in the slice (Delta refuses others). Writing the same frame twice gives the same
    table. `part` is a Column, never text: names of topics come from outside.
    """
    spark = df.sparkSession
    make_table(spark, out, table)
    conform(df, table).writeTo(f"delta.`{_quoted(table_path(out, table))}`").overwrite(part)


def make_table(spark: SparkSession, out: str, table: Table) -> None:
    """Create the table from its contract when it is not there: comments, nullability, statistics.

    Raises:
        UsageError: a table of another contract is there.
    """
    path = table_path(out, table)
    if exists(spark, out, table):
        _check_contract(spark, path, table)
        return
    maker = DeltaTable.createIfNotExists(spark).location(path).comment(table.comment)
    maker = maker.addColumns(schema_of(table)).property(SCHEMA_PROPERTY, CONTRACT_VERSION)
    maker = maker.property("delta.enableDeletionVectors", "false")
    if table.statistics:
        maker = maker.property("delta.dataSkippingStatsColumns", ",".join(table.statistics))
    maker.execute()


def register_tables(spark: SparkSession, out: str) -> list[str]:
    """Make every table a temporary view of its own name; the names of those that exist."""
    names = []
    for table in TABLES.values():
        read_table(spark, out, table).createOrReplaceTempView(table.name)
        if exists(spark, out, table):
            names.append(table.name)
    return names


def local_out(out: str) -> Path | None:
    """`out` as a local folder, or None when it is an address for the cluster."""
    return None if "://" in out and not out.startswith("file://") else Path(out.removeprefix("file://"))


def _check_contract(spark: SparkSession, path: str, table: Table) -> None:
    found = dict(spark.read.format("delta").load(path).dtypes)
    wanted = {field.name: field.dataType.simpleString() for field in schema_of(table).fields}
    if found != wanted:
        raise UsageError(
            f"{path} was written by another version of pulsar-backlog (its columns differ): give --out a new folder, "
            "or delete that one and audit again"
        )


def _quoted(path: str) -> str:
    return path.replace("`", "``")
