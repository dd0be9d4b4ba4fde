"""Rows of tables with nothing in them: null, or empty where null is not allowed; tests give what matters."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pulsar_backlog.tables import Table

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
_EMPTY: dict[str, Any] = {
    "string": "", "bigint": 0, "int": 0, "boolean": False, "double": 0.0, "binary": b"", "timestamp": NOON,
}  # fmt: skip


def complete_row(table: Table, row: dict[str, Any]) -> dict[str, Any]:
    """A row with all columns of a table, in their order."""
    assert set(row) <= set(table.column_names()), "a column that the table does not have"
    return {column.name: None if column.nullable else _empty(column.type) for column in table.columns} | row


def _empty(kind: str) -> Any:
    return _EMPTY.get(kind, {} if kind.startswith("map") else [])
