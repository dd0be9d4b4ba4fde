"""Contracts of tables as schemas in Delta's log (PROTOCOL.md of delta-io/delta, "Schema Serialization Format")."""

from __future__ import annotations

from functools import cache
from typing import Any

from pulsar_backlog.tables.arrow import inside, parts
from pulsar_backlog.tables.contract import Table

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


def _field(name: str, ddl: str, *, nullable: bool, metadata: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "type": _type(ddl), "nullable": nullable, "metadata": metadata}


def _type(ddl: str) -> Any:
    name, held = inside(ddl)
    match name:
        case "array":
            return {"type": "array", "elementType": _type(held), "containsNull": True}
        case "map":
            key, value = parts(held)
            return {"type": "map", "keyType": _type(key), "valueType": _type(value), "valueContainsNull": True}
        case "struct":
            pairs = (part.partition(":") for part in parts(held))
            fields = [_field(name.strip(), kind, nullable=True, metadata={}) for name, _, kind in pairs]
            return {"type": "struct", "fields": fields}
    return _PLAIN[name]
