"""The contract of a table as an Arrow schema, made without a JVM, for tests that need no session."""

from __future__ import annotations

import pyarrow as pa

from pulsar_backlog.tables import Table

_PLAIN = {
    "bigint": pa.int64(), "int": pa.int32(), "boolean": pa.bool_(), "string": pa.string(), "binary": pa.binary(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}  # fmt: skip


def schema_of(table: Table) -> pa.Schema:
    return pa.schema([(column.name, _type(column.type)) for column in table.columns])


def _type(ddl: str) -> pa.DataType:
    if ddl in _PLAIN:
        return _PLAIN[ddl]
    outer, inner = ddl[:-1].split("<", 1)
    parts = _parts(inner)
    if outer == "array":
        return pa.list_(_type(inner))
    if outer == "map":
        return pa.map_(*map(_type, parts))
    return pa.struct([(name, _type(kind)) for name, kind in (part.split(":", 1) for part in parts)])


def _parts(inner: str) -> list[str]:
    """What commas separate, those within brackets left out."""
    parts, depth = [""], 0
    for character in inner:
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
