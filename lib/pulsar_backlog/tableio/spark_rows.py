"""Rows between Arrow and Spark: a contract as a Spark schema, few rows as a frame and a small frame as rows."""

from __future__ import annotations

from functools import cache
from typing import TypeVar, cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StructField, StructType

from pulsar_backlog.tableio.table_cache import MAX_ROWS
from pulsar_backlog.tableio.work_size import collects_to_driver
from pulsar_backlog.tables import Table

Kind = TypeVar("Kind", bound=DataType)


@cache
def schema_of(table: Table) -> StructType:
    """The contract as a Spark schema."""
    schema = cast(StructType, StructType.fromDDL(table.ddl()))
    for field, column in zip(schema.fields, table.columns, strict=True):
        field.metadata = {"comment": column.comment}
    return schema


def conform(df: DataFrame, table: Table) -> DataFrame:
    """The frame's columns in the contract's order; never casts.

    Raises:
        ValueError: every difference in names and types at once.
    """
    wanted = {field.name: field.dataType.simpleString() for field in schema_of(table).fields}
    types = dict(df.dtypes)
    faults = [f"missing {name} {kind}" for name, kind in wanted.items() if name not in types]
    faults += [f"unknown {name} {kind}" for name, kind in types.items() if name not in wanted]
    faults += [
        f"{name} is {types[name]}, not {kind}" for name, kind in wanted.items() if name in types and types[name] != kind
    ]
    if faults:
        raise ValueError(f"{table.name}: {'; '.join(faults)}")
    return df.select(*table.column_names())


def in_one_chunk(rows: pa.Table) -> pa.Table:
    """The same rows as Spark must get them: it takes a chunk without rows for the end, and drops what stands behind."""
    return rows.combine_chunks()


def with_columns_of(frame: DataFrame, table: Table) -> DataFrame:
    """A table as Delta read it, with null for columns, and fields of structs, that were added to its contract since."""
    there = {field.name: field.dataType for field in frame.schema.fields}
    columns = {
        field.name: f.lit(None).cast(field.dataType)
        if field.name not in there
        else _widened(f.col(field.name), there[field.name], field.dataType)
        for field in schema_of(table).fields
        if field.name not in there or there[field.name].simpleString() != field.dataType.simpleString()
    }
    return frame.withColumns(columns).select(*table.column_names()) if columns else frame


def _widened(value: Column, older: DataType, newer: DataType) -> Column:
    """A value of a type that got fields since, which are null."""
    if isinstance(older, ArrayType) and isinstance(newer, ArrayType):
        of_element, to_element = older.elementType, newer.elementType
        return f.transform(value, lambda one: _widened(one, of_element, to_element))
    if isinstance(older, StructType) and isinstance(newer, StructType):
        there = {field.name: field.dataType for field in older.fields}
        fields = [
            (_widened(value[name], there[name], kind) if name in there else f.lit(None).cast(kind)).alias(name)
            for name, kind in ((field.name, field.dataType) for field in newer.fields)
        ]
        return f.when(value.isNotNull(), f.struct(*fields))
    return value


def frame_of(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame:
    """Rows of this process as a frame, in one partition: to group or join such rows, nothing is shuffled."""
    return spark.createDataFrame(in_one_chunk(rows), schema=_nullable(schema)).coalesce(1)


def collect_small(frame: DataFrame) -> pa.Table | None:
    """The rows of a frame that are few; None where they are not, and where work is not small.

    Rows with bytes in them, which may be payloads, are never collected.
    """
    has_bytes = any(isinstance(field.dataType, BinaryType) for field in frame.schema.fields)
    if has_bytes or not collects_to_driver(frame.sparkSession):
        return None
    # Arrow takes a struct that is null for one whose values are null, which they must not be where they never are.
    columns = [_as_nullable(field) for field in frame.schema.fields]
    rows = frame.select(*columns).limit(MAX_ROWS + 1).toArrow()
    return rows if rows.num_rows <= MAX_ROWS else None


def _as_nullable(field: StructField) -> Column:
    column, kind = f.col(field.name), _nullable(field.dataType)
    return column if kind == field.dataType else column.cast(kind).alias(field.name)


def _nullable(kind: Kind) -> Kind:
    """The type with all that it holds nullable."""
    match kind:
        case StructType():
            fields = [StructField(one.name, _nullable(one.dataType), True, one.metadata) for one in kind.fields]
            return cast(Kind, StructType(fields))
        case ArrayType():
            return cast(Kind, ArrayType(_nullable(kind.elementType), True))
        case MapType():
            return cast(Kind, MapType(_nullable(kind.keyType), _nullable(kind.valueType), True))
    return kind
