"""Contracts of tables as Arrow schemas, in the form Spark gives them, without Spark."""

from __future__ import annotations

from functools import cache

import pyarrow as pa

from pulsar_backlog.tables.contract import Table
from pulsar_backlog.tables.ddl import inside, parts

_PLAIN: dict[str, pa.DataType] = {
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


@cache
def arrow_schema(table: Table) -> pa.Schema:
    """The contract as an Arrow schema."""
    return pa.schema([pa.field(c.name, arrow_type(c.type), nullable=c.nullable) for c in table.columns])


@cache
def task_schema(table: Table) -> pa.Schema:
    """The same as tasks hold their rows: what many rows share lies in dictionaries."""
    kinds = [pa.dictionary(pa.int32(), f.type) if f.name in table.repeated else f.type for f in arrow_schema(table)]
    return pa.schema([field.with_type(kind) for field, kind in zip(arrow_schema(table), kinds, strict=True)])


def plain(column: pa.Array) -> pa.Array:
    """The column without a dictionary."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def ddl_schema(ddl: str) -> pa.Schema:
    """Columns in Spark's DDL, as `name type` or `name type not null`, as an Arrow schema.

    >>> ddl_schema("topic string not null, indexes array<int>")
    topic: string not null
    indexes: list<element: int32>
      child 0, element: int32
    """
    columns = (column.split(maxsplit=1) for column in parts(ddl))
    return pa.schema(
        [
            pa.field(name, arrow_type(kind.removesuffix("not null")), nullable=not kind.endswith("not null"))
            for name, kind in columns
        ]
    )


def arrow_type(ddl: str) -> pa.DataType:
    """A type of Spark's DDL as Arrow's.

    Raises:
        ValueError: a type that no contract uses.
    """
    name, inner = inside(ddl)
    match name:
        case "array":
            return pa.list_(pa.field("element", arrow_type(inner)))
        case "map":
            key, value = parts(inner)
            return pa.map_(arrow_type(key), pa.field("value", arrow_type(value)))
        case "struct":
            pairs = (part.partition(":") for part in parts(inner))
            return pa.struct([pa.field(name.strip(), arrow_type(kind)) for name, _, kind in pairs])
    if ddl.strip() not in _PLAIN:
        raise ValueError(f"no Arrow type for {ddl}")
    return _PLAIN[ddl.strip()]
