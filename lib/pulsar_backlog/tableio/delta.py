"""Delta tables: made from their contract, read by name, written slice by slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar, cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, BinaryType, DataType, LongType, MapType, StructField, StructType

from pulsar_backlog.output.data_files import rows_in_file, write_data_file
from pulsar_backlog.tableio.beside import beside
from pulsar_backlog.tableio.commits import TableLog, open_direct
from pulsar_backlog.tableio.delta_log import other_contract
from pulsar_backlog.tableio.direct import direct_write, written
from pulsar_backlog.tableio.held import MAX_ROWS, NEVER, held_rows, hold, rows_in
from pulsar_backlog.tableio.places import lost_file, table_path
from pulsar_backlog.tableio.plain_files import frame_of_files
from pulsar_backlog.tableio.table_logs import has_own_log, own_log
from pulsar_backlog.tableio.work_size import holds_results
from pulsar_backlog.tables import TABLES, Table
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tables.delta_schema import column_types, delta_schema

Kind = TypeVar("Kind", bound=DataType)

_AT_ONCE = 16


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
    log = own_log(out, table)
    if log is not None:
        rows = rows_in(log, table)
        known = frame_of_files(spark, log, table) if rows is None else frame_of(spark, rows, schema_of(table))
        if known is not None:
            return known
    version = TableLog(spark, table_path(out, table)).version if log is None else log.version
    if version < 0:
        return spark.createDataFrame([], schema_of(table))
    return spark.read.format("delta").load(table_path(out, table))


def table_version(spark: SparkSession, out: str, table: Table) -> int:
    """The table's Delta version, -1 when it was never written.

    Asked of the log itself: its history is a Spark job, and an audit asks this dozens of times.
    """
    known = logged_version(out, table)
    return TableLog(spark, table_path(out, table)).version if known is None else known


def logged_version(out: str, table: Table) -> int | None:
    """The same without a session; None where only Spark tells it."""
    log = own_log(out, table)
    return None if log is None else log.version


def check_files(out: str) -> None:
    """Look whether the files of all tables are there.

    Raises:
        UsageError: one is gone, or a log is damaged.
        SourceError: the bucket cannot be read.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda table: _check_files(out, table), TABLES.values()))


def _check_files(out: str, table: Table) -> None:
    log = own_log(out, table)
    listed = {path for path, *_ in log.files() if "/" not in path} if log is not None else set()
    if gone := listed and listed.difference(beside(out).names(f"tables/{table.name}")):
        raise lost_file(f"{table_path(out, table)}/{min(gone)}", "its log names it")


def small_rows(out: str, table: Table) -> pa.Table | None:
    """All rows of a small table, without a session; None where it is large or left to Spark."""
    return held_rows(out, table)


def in_one_piece(rows: pa.Table) -> pa.Table:
    """The same rows as Spark must get them: it takes a piece without rows for the end, and drops what stands behind."""
    return rows.combine_chunks()


def frame_of(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame:
    """Rows that the driver holds as a frame, in one partition: to group or join such rows, nothing is shuffled."""
    return spark.createDataFrame(in_one_piece(rows), schema=_loose(schema)).coalesce(1)


def gathered(frame: DataFrame) -> pa.Table | None:
    """The rows of a frame that are few enough to be held; None where they are not, and where work is not small.

    Rows that hold bytes, which may be payloads, are never gathered.
    """
    has_bytes = any(isinstance(field.dataType, BinaryType) for field in frame.schema.fields)
    if has_bytes or not holds_results(frame.sparkSession):
        return None
    # Arrow takes a struct that is null for one whose values are null, which they must not be where they never are.
    loose = [_loosened(field) for field in frame.schema.fields]
    rows = frame.select(*loose).limit(MAX_ROWS + 1).toArrow()
    return rows if rows.num_rows <= MAX_ROWS else None


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


def replace_slice(df: DataFrame, out: str, table: Table, part: Column) -> int:
    """Replace exactly the rows of `table` for which `part` holds with `df`.

    Every row of `df` must lie in the slice (others are refused). Writing the same frame twice gives the same
    table. `part` is a Column, never text: names of topics come from outside.

    Returns:
        How many rows the slice has now.
    """
    spark = df.sparkSession
    rows = conform(df, table)
    few = gathered(rows) if table.name not in NEVER and has_own_log(out) else None
    if few is not None and _replace_held(spark, few, out, table, part):
        return int(few.num_rows)
    with direct_write(spark, out, table, part) as direct:
        if direct is None:
            make_table(spark, out, table)
            rows.writeTo(f"delta.`{_quoted(table_path(out, table))}`").overwrite(part)
            return read_table(spark, out, table).filter(part).count()
        files = written(rows.filter(_only(part)), direct).collect()
        direct.commit(files)
        return sum(rows_in_file(file) for file in files)


def replace_rows(
    spark: SparkSession, rows: Sequence[Mapping[str, Any]] | pa.Table, out: str, table: Table, part: Column
) -> None:
    """The same for rows that the driver holds; without a Spark job where that can be."""
    made = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows, schema=arrow_schema(table))
    if made.num_rows <= MAX_ROWS and _replace_held(spark, made, out, table, part):
        return
    with direct_write(spark, out, table, part) as direct:
        if direct is None:
            replace_slice(spark.createDataFrame(made, schema=schema_of(table)), out, table, part)
        else:
            files = write_data_file(made.to_batches(), direct.place, arrow_schema(table), table)
            direct.commit([file for batch in files for file in batch.to_pylist()])


def _replace_held(spark: SparkSession, new: pa.Table, out: str, table: Table, part: Column) -> bool:
    """Replace a slice of a small table by rows that the driver holds: one file, one commit. False where it is large."""
    log = None if table.name in NEVER else own_log(out, table)
    if log is None:
        return False
    log.check(table)
    old = rows_in(log, table)
    if old is None:
        return False
    inside = _inside(spark, pa.concat_tables([old, new.cast(arrow_schema(table))]), table, part)
    if not all(inside[old.num_rows :]):
        raise ValueError(f"{table.name}: a row lies outside its slice")
    kept = old.filter(pa.array([not one for one in inside[: old.num_rows]], pa.bool_()))
    if log.version >= 0 and new.num_rows == 0 and kept.num_rows == old.num_rows:
        return True
    rows = pa.concat_tables([kept, new.cast(arrow_schema(table))])
    with open_direct(log, table, [path for path, *_ in log.files()]) as direct:
        files = write_data_file(rows.to_batches(), direct.place, arrow_schema(table), table)
        direct.commit([file for batch in files for file in batch.to_pylist()])
    now = own_log(out, table)
    if now is not None and now.version == log.version + 1:  # else another writer has been here meanwhile
        hold(now.path, now.identity, rows)
    return True


def _loosened(field: StructField) -> Column:
    column, kind = f.col(field.name), _loose(field.dataType)
    return column if kind == field.dataType else column.cast(kind).alias(field.name)


def _loose(kind: Kind) -> Kind:
    """The type with all that it holds nullable."""
    match kind:
        case StructType():
            fields = [StructField(one.name, _loose(one.dataType), True, one.metadata) for one in kind.fields]
            return cast(Kind, StructType(fields))
        case ArrayType():
            return cast(Kind, ArrayType(_loose(kind.elementType), True))
        case MapType():
            return cast(Kind, MapType(_loose(kind.keyType), _loose(kind.valueType), True))
    return kind


def _inside(spark: SparkSession, rows: pa.Table, table: Table, part: Column) -> list[bool]:
    """Whether each row lies in a slice: of local rows Spark tells without a job."""
    numbered = rows.append_column("_row", pa.array(range(rows.num_rows), pa.int64()))
    schema = StructType([*schema_of(table).fields, StructField("_row", LongType())])
    inside = spark.createDataFrame(in_one_piece(numbered), schema=schema).filter(part).select("_row")
    found = {row["_row"] for row in inside.collect()}
    return [number in found for number in range(rows.num_rows)]


def make_table(spark: SparkSession, out: str, table: Table) -> None:
    """Create the table from its contract when it is not there: comments, nullability, statistics.

    Raises:
        UsageError: a table of another contract is there.
    """
    path, here = table_path(out, table), own_log(out, table)
    if here is not None:
        here.check(table)
        if here.version < 0:
            here.commit(table, [])
        return
    log = TableLog(spark, path)
    if log.version < 0:
        log.make(table)
    elif column_types(log.schema.jsonValue()) != column_types(delta_schema(table)):
        raise other_contract(path)


def _only(part: Column) -> Column:
    """True for rows of the slice; any other row stops the write."""
    return f.when(part, f.lit(True)).otherwise(f.raise_error(f.lit("a row lies outside its slice")).cast("boolean"))


def _quoted(path: str) -> str:
    return path.replace("`", "``")
