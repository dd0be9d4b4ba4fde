"""Delta tables: made from their contract, read by name, written slice by slice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, BinaryType, DataType, LongType, MapType, StructField, StructType

from pulsar_backlog.errors import UsageError
from pulsar_backlog.output.data_files import FILES_DDL, write_data_file
from pulsar_backlog.storage.commits import DirectWrite, TableLog, open_direct
from pulsar_backlog.storage.held import MAX_ROWS, NEVER, held_rows, hold, rows_in, table_folder
from pulsar_backlog.storage.local_log import LocalLog
from pulsar_backlog.storage.places import table_path
from pulsar_backlog.storage.session import holds_results, tasks_share_disk
from pulsar_backlog.tables import TABLES, Table
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tables.delta_schema import column_types, delta_schema
from pulsar_backlog.workers import quiet

Kind = TypeVar("Kind", bound=DataType)


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
    rows = small_rows(out, table)
    if rows is not None:
        return frame_of(spark, rows, schema_of(table))
    if not exists(spark, out, table):
        return spark.createDataFrame([], schema_of(table))
    return spark.read.format("delta").load(table_path(out, table))


def table_version(spark: SparkSession, out: str, table: Table) -> int:
    """The table's Delta version, -1 when it was never written.

    Asked of the log itself: its history is a Spark job, and an audit asks this dozens of times.
    """
    known = local_version(out, table)
    return TableLog(spark, table_path(out, table)).version if known is None else known


def local_version(out: str, table: Table) -> int | None:
    """The same for tables on this machine's disk, without a session; None where they lie elsewhere."""
    folder = _folder(out, table)
    return None if folder is None else LocalLog(folder).version


def small_rows(out: str, table: Table) -> pa.Table | None:
    """All rows of a small table on this machine's disk, without a session; None where it is large or elsewhere."""
    return held_rows(out, table) if tasks_share_disk() else None


def logged_rows(out: str, table: Table) -> int | None:
    """How many rows a table on this machine's disk has, as its log tells; None where it does not."""
    folder = _folder(out, table)
    rows = None if folder is None else [rows for _path, _size, rows in LocalLog(folder).files()]
    return None if rows is None or None in rows else sum(filter(None, rows))


def in_one_piece(rows: pa.Table) -> pa.Table:
    """The same rows as Spark must get them: it takes a piece without rows for the end, and drops what stands behind."""
    return rows.combine_chunks()


def frame_of(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame:
    """Rows that the driver holds as a frame; in one partition where the work is small, so that nothing is shuffled."""
    frame = spark.createDataFrame(in_one_piece(rows), schema=_loose(schema))
    return frame.coalesce(1) if holds_results(spark) else frame


def gathered(frame: DataFrame) -> pa.Table | None:
    """The rows of a frame that are few enough to be held; None where they are not, and where work is not small.

    Rows that hold bytes, which may be payloads, are never gathered.
    """
    has_bytes = any(isinstance(field.dataType, BinaryType) for field in frame.schema.fields)
    if has_bytes or not holds_results(frame.sparkSession):
        return None
    # Arrow takes a struct that is null for one whose values are null, which they must not be where they never are.
    loose = [f.col(field.name).cast(_loose(field.dataType)).alias(field.name) for field in frame.schema.fields]
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


def replace_slice(df: DataFrame, out: str, table: Table, part: Column) -> None:
    """Replace exactly the rows of `table` for which `part` holds with `df`.

    Every row of `df` must lie in the slice (others are refused). Writing the same frame twice gives the same
    table. `part` is a Column, never text: names of topics come from outside.
    """
    spark = df.sparkSession
    rows = conform(df, table)
    few = gathered(rows) if table.name not in NEVER and _folder(out, table) is not None else None
    if few is not None and _replace_held(spark, few, out, table, part):
        return
    with direct_write(spark, out, table, part) as direct:
        if direct is None:
            make_table(spark, out, table)
            rows.writeTo(f"delta.`{_quoted(table_path(out, table))}`").overwrite(part)
        else:
            direct.commit(_written(rows.filter(_only(part)), direct).collect())


def replace_rows(spark: SparkSession, rows: Sequence[Mapping[str, Any]], out: str, table: Table, part: Column) -> None:
    """The same for rows that the driver holds; without a Spark job where that can be."""
    made = pa.Table.from_pylist(rows, schema=arrow_schema(table))
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
    folder = _folder(out, table)
    if folder is None or table.name in NEVER:
        return False
    log = LocalLog(folder)
    _check_contract(log, table)
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
    with open_direct(log, table) as direct:
        files = write_data_file(rows.to_batches(), direct.place, arrow_schema(table), table)
        direct.commit([file for batch in files for file in batch.to_pylist()], [path for path, *_ in log.files()])
    hold(folder, LocalLog(folder).identity, rows)
    return True


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
    folder = _folder(out, table)
    if folder is None:
        yield None
        return
    log = LocalLog(folder)
    _check_contract(log, table)
    if not log.is_plain or (log.files() and not read_table(spark, out, table).filter(part).isEmpty()):
        yield None
        return
    with open_direct(log, table) as direct:
        yield direct
    # As Spark's writer does: what is cached of the table is old now.
    spark.catalog.refreshByPath(table_path(out, table))


def make_table(spark: SparkSession, out: str, table: Table) -> None:
    """Create the table from its contract when it is not there: comments, nullability, statistics.

    Raises:
        UsageError: a table of another contract is there.
    """
    folder, path = _folder(out, table), table_path(out, table)
    if folder is not None:
        here = LocalLog(folder)
        _check_contract(here, table)
        if here.version < 0:
            here.commit(table, [])
        return
    log = TableLog(spark, path)
    if log.version < 0:
        log.make(table)
    elif column_types(log.schema.jsonValue()) != column_types(delta_schema(table)):
        raise _other_contract(path)


def register_tables(spark: SparkSession, out: str) -> None:
    """Make every table a temporary view of its own name; empty where it was never written."""
    for table in TABLES.values():
        read_table(spark, out, table).createOrReplaceTempView(table.name)


def _check_contract(log: LocalLog, table: Table) -> None:
    if not log.has_columns_of(table):
        raise _other_contract(str(log.folder))


def _other_contract(path: str) -> UsageError:
    return UsageError(
        f"{path} was written by another version of pulsar-backlog (its columns differ): give --out a new folder, "
        "or delete that one and audit again"
    )


def _folder(out: str, table: Table) -> Path | None:
    """The table's folder where tasks share a disk with this process and it lies there."""
    return table_folder(out, table) if tasks_share_disk() else None


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
