"""What only Spark does with tables, behind `store.TableStore`, which imports this where it needs a session."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pulsar_backlog.tableio import table_cache
from pulsar_backlog.tableio.delta_log import other_contract
from pulsar_backlog.tableio.parquet_frames import frame_of_files
from pulsar_backlog.tableio.places import table_path
from pulsar_backlog.tableio.slices import Slice
from pulsar_backlog.tableio.spark_log import SparkLog, additions
from pulsar_backlog.tableio.spark_rows import frame_of, in_one_chunk, schema_of, with_columns_of
from pulsar_backlog.tableio.table_logs import log_without_spark
from pulsar_backlog.tables import Table
from pulsar_backlog.tables.delta_schema import added_columns


def frame_of_table(spark: SparkSession, out: str, table: Table) -> DataFrame:
    """A whole table; an empty frame of its schema when it was never written."""
    log, path = log_without_spark(out, table), table_path(out, table)
    if log is not None:
        rows = table_cache.rows_of(log, table)
        frame = frame_of_files(spark, log, table) if rows is None else frame_of(spark, rows, schema_of(table))
        if frame is not None:
            return frame
    version = SparkLog(spark, path).version if log is None else log.version
    if version < 0:
        return spark.createDataFrame([], schema_of(table))
    return with_columns_of(spark.read.format("delta").load(path), table)


def create_by_spark(spark: SparkSession, path: str, table: Table) -> None:
    """Make a table from its contract when it is not there, and give it the columns that it lacks.

    Raises:
        UsageError: a table of another contract is there.
    """
    log = SparkLog(spark, path)
    if log.version < 0:
        log.create(table)
        return
    missing = added_columns(log.schema.jsonValue(), table)
    if missing is None:
        raise other_contract(path)
    if missing:
        columns = ", ".join(additions(log.schema, schema_of(table)))
        spark.sql(f"ALTER TABLE {_quoted(path)} ADD COLUMNS ({columns})")


def overwrite(rows: DataFrame, path: str, part: Slice) -> None:
    """Replace a slice of a table that is there by Delta's own writer, which refuses rows outside it."""
    rows.writeTo(_quoted(path)).overwrite(part.column())


def frame_of_rows(spark: SparkSession, rows: pa.Table, table: Table) -> DataFrame:
    """Many rows of this process as a frame, for such a writer."""
    return spark.createDataFrame(in_one_chunk(rows), schema=schema_of(table))


def inside_or_error(part: Slice) -> Any:
    """True for rows of the slice; any other row stops the write."""
    error = f.raise_error(f.lit("a row lies outside its slice")).cast("boolean")
    return f.when(part.column(), f.lit(True)).otherwise(error)


def _quoted(path: str) -> str:
    return f"delta.`{path.replace('`', '``')}`"
