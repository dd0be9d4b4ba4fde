"""Contracts of tables as schemas in Delta's log (PROTOCOL.md of delta-io/delta, "Schema Serialization Format")."""

from __future__ import annotations

from functools import cache
from typing import Any

from pulsar_backlog.tables.contract import Column, Table
from pulsar_backlog.tables.ddl import inside, parts

_PLAIN = {
    "string": "string",
    "binary": "binary",
    "boolean": "boolean",
    "int": "integer",
    "bigint": "long",
    "double": "double",
    "timestamp": "timestamp",
}


@cache
def delta_schema(table: Table) -> dict[str, Any]:
    """The contract as a schema, with its comments."""
    return {
        "type": "struct",
        "fields": [_field(c.name, c.type, nullable=c.nullable, metadata={"comment": c.comment}) for c in table.columns],
    }


def column_types(schema: dict[str, Any]) -> dict[str, Any]:
    """Types by column: what must be equal where tables are of one contract."""
    return {field["name"]: field["type"] for field in schema["fields"]}


def added_columns(schema: dict[str, Any], table: Table) -> list[Column] | None:
    """The columns of a contract that an older table lacks, or fields of their structs; None where it differs otherwise.

    Args:
        schema: of the table, as its log has it.
        table: the contract.
    """
    there, wanted = column_types(schema), column_types(delta_schema(table))
    if any(name not in wanted or not _holds(wanted[name], kind) for name, kind in there.items()):
        return None
    missing = [column for column in table.columns if there.get(column.name) != wanted[column.name]]
    return missing if all(column.nullable or column.name in there for column in missing) else None


def _holds(newer: Any, older: Any) -> bool:
    """Whether a type is another, or that with more fields in its structs, which may all be null."""
    if isinstance(newer, str) or isinstance(older, str) or newer["type"] != older["type"]:
        return bool(newer == older)
    if newer["type"] == "struct":
        there, wanted = column_types(older), column_types(newer)
        old_names = [name for name in wanted if name in there]
        return old_names == list(there) and all(_holds(wanted[name], kind) for name, kind in there.items())
    if newer["type"] == "array":
        return _holds(newer["elementType"], older["elementType"])
    return bool(newer == older)


def _field(name: str, ddl: str, *, nullable: bool, metadata: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "type": _type(ddl), "nullable": nullable, "metadata": metadata}


def _type(ddl: str) -> Any:
    name, inner = inside(ddl)
    match name:
        case "array":
            return {"type": "array", "elementType": _type(inner), "containsNull": True}
        case "map":
            key, value = parts(inner)
            return {"type": "map", "keyType": _type(key), "valueType": _type(value), "valueContainsNull": True}
        case "struct":
            pairs = (part.partition(":") for part in parts(inner))
            fields = [_field(name.strip(), kind, nullable=True, metadata={}) for name, _, kind in pairs]
            return {"type": "struct", "fields": fields}
    return _PLAIN[name]
