"""Types and values of DuckDB as SQL: a contract's types, and any value as JSON or text as Spark writes it.

Times are UTC in ISO 8601 with milliseconds, bytes are base64 in JSON and hex in text, what is nested is JSON in text,
whole numbers are 64 bits. Text is never put into SQL but through `quoted` and `literal`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from duckdb.sqltypes import DuckDBPyType

_SCALARS = {
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "binary": "BLOB",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
}
"""Spark's names of types in contracts, and DuckDB's."""
_SPARK_SCALARS = {duck: spark for spark, duck in _SCALARS.items()} | dict.fromkeys(("HUGEINT", "UBIGINT"), "bigint")
_UTC_FORMAT = "%Y-%m-%dT%H:%M:%S.%gZ"
_TIMES = {
    "timestamp with time zone": _UTC_FORMAT,
    "timestamp": _UTC_FORMAT.removesuffix("Z"),
    "timestamp_s": _UTC_FORMAT.removesuffix("Z"),
    "timestamp_ms": _UTC_FORMAT.removesuffix("Z"),
    "timestamp_ns": _UTC_FORMAT.removesuffix("Z"),
}
_UNLIKE = ("'", "\\")
"""Characters of a text that engines read differently."""
_NESTED = frozenset({"list", "array", "struct", "map", "union", "json"})


def quoted(name: str) -> str:
    """A name as SQL writes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL writes it, whatever is in it."""
    return "'" + text.replace("'", "''") + "'"


def portable_literal(text: str) -> str:
    """A text as SQL that DuckDB and every release of Spark read alike.

    Spark 4.0 takes the two quotes in `'a''b'` for the end of one text and the beginning of the next, and every Spark a
    backslash for an escape.

    >>> portable_literal("a subscription's backlog")
    "('a subscription' || chr(39) || 's backlog')"
    """
    parts = [f"chr({ord(part)})" if part in _UNLIKE else f"'{part}'" for part in re.split(r"(['\\])", text)]
    return parts[0] if len(parts) == 1 else f"({' || '.join(parts)})"


def duck_type(spark_type: str) -> str:
    """The type of a contract's column as DuckDB writes it.

    >>> duck_type("array<struct<start:bigint,tags:map<string,string>>>")
    'STRUCT("start" BIGINT, "tags" MAP(VARCHAR, VARCHAR))[]'
    """
    outer = re.fullmatch(r"(array|map|struct)<(.*)>", spark_type)
    if outer is None:
        return _SCALARS[spark_type]
    parts = list(_parts(outer[2]))
    if outer[1] == "array":
        return f"{duck_type(parts[0])}[]"
    if outer[1] == "map":
        return f"MAP({', '.join(map(duck_type, parts))})"
    fields = (part.partition(":") for part in parts)
    return f"STRUCT({', '.join(f'{quoted(name)} {duck_type(kind)}' for name, _, kind in fields)})"


def _parts(text: str) -> Iterator[str]:
    """The parts between commas that lie in no brackets."""
    depth = start = 0
    for at, char in enumerate(text):
        depth += (char == "<") - (char == ">")
        if char == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def spark_type(kind: DuckDBPyType) -> str:
    """What `duck_type` makes a type of, for any that a view may have."""
    parts = {name: cast(DuckDBPyType, part) for name, part in kind.children} if kind.id in _NESTED - {"json"} else {}
    if kind.id in ("list", "array"):
        return f"array<{spark_type(parts['child'])}>"
    if kind.id == "map":
        return f"map<{spark_type(parts['key'])},{spark_type(parts['value'])}>"
    if kind.id == "struct":
        return f"struct<{','.join(f'{name}:{spark_type(part)}' for name, part in parts.items())}>"
    return _SPARK_SCALARS.get(str(kind).upper(), str(kind).lower())


def bigint_value(value: str, kind: DuckDBPyType) -> str:
    """The value with sums of whole numbers as the 64 bits that Spark gives; more than those stops the query."""
    return f"CAST({value} AS BIGINT)" if kind.id in ("hugeint", "uhugeint", "ubigint") else value


def text_value(value: str, kind: DuckDBPyType) -> str:
    """SQL that gives the value as text for a person."""
    if kind.id == "blob":
        return f"lower(hex({value}))"
    if kind.id in _TIMES:
        return f"strftime({value}, '{_TIMES[kind.id]}')"
    if kind.id in _NESTED:
        return f"CAST(to_json({json_value(value, kind)}) AS VARCHAR)"
    return f"CAST({bigint_value(value, kind)} AS VARCHAR)"


def json_value(value: str, kind: DuckDBPyType, depth: int = 0) -> str:
    """SQL that gives what `to_json` is to write for the value.

    Args:
        value: SQL of the value.
        kind: its type.
        depth: of how many lists and maps it is a part.
    """
    if kind.id == "blob":
        return f"base64({value})"
    if kind.id in _TIMES:
        return f"strftime({value}, '{_TIMES[kind.id]}')"
    if kind.id in ("double", "float"):  # JSON has no words for what is not finite
        return (
            f"CASE WHEN isnan({value}) OR isinf({value}) THEN to_json({_not_finite(value)}) ELSE to_json({value}) END"
        )
    if kind.id in ("list", "array", "struct", "map"):
        return _nested_json(value, kind, depth)
    return bigint_value(value, kind)


def _not_finite(value: str) -> str:
    return f"CASE WHEN isnan({value}) THEN 'NaN' WHEN {value} > 0 THEN 'Infinity' ELSE '-Infinity' END"


def _nested_json(value: str, kind: DuckDBPyType, depth: int) -> str:
    parts = {name: cast(DuckDBPyType, part) for name, part in kind.children}
    one = f"v{depth}"
    if kind.id in ("list", "array"):
        inner = json_value(one, parts["child"], depth + 1)
        return value if inner == one else f"list_transform({value}, lambda {one}: {inner})"
    if kind.id == "struct":
        fields = (f"{quoted(n)} := {json_value(f'{value}.{quoted(n)}', k, depth)}" for n, k in parts.items())
        return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({', '.join(fields)}) END"
    inner = json_value(f"{one}.value", parts["value"], depth + 1)
    pair = f"struct_pack(k := {one}.key, v := {inner})"
    return f"map_from_entries(list_transform(map_entries({value}), lambda {one}: {pair}))"
