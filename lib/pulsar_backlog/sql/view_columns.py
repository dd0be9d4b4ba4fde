"""The columns of the views, as DuckDB finds them over tables without rows."""

from __future__ import annotations

from functools import cache

import duckdb

from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql.duck import connected, create_empty_table, create_view
from pulsar_backlog.sql.duck_values import spark_type
from pulsar_backlog.sql.views import views
from pulsar_backlog.tables import TABLES


@cache
def view_columns() -> dict[str, list[tuple[str, str]]]:
    """Names and types of the columns of each view; a view that is no SQL of DuckDB's is left out."""
    columns: dict[str, list[tuple[str, str]]] = {}
    with connected() as connection:
        for table in TABLES.values():
            create_empty_table(connection, table)
        for name, sql in views().items():
            try:
                create_view(connection, name, sql)
                relation = connection.sql(f"FROM {name}")
            except (UsageError, duckdb.Error):
                continue
            columns[name] = [
                (column, spark_type(kind)) for column, kind in zip(relation.columns, relation.types, strict=True)
            ]
    return columns
