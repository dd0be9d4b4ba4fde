"""Delta tables of a few rows, written without Spark: with only what matters given, as `tests/frames/rows.py` has it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from pulsar_backlog.sql.duck_values import duck_type, quoted
from pulsar_backlog.tableio.delta_actions import statistics_settings
from pulsar_backlog.tableio.store import TableStore
from pulsar_backlog.tables import TABLES, Table
from tests.blank_rows import complete_row


def store_of(spark: SparkSession, out: str) -> TableStore:
    """The tables in `out`, with a session that runs."""
    return TableStore(out, lambda: spark)


def write_tables(out: Path, **rows: Iterable[dict[str, Any]]) -> Path:
    """Append rows to tables in `out`, a file each time; columns not given are null, or empty where required."""
    for name, given in rows.items():
        table = TABLES[name]
        values = [_for_duckdb(table, complete_row(table, row)) for row in given]
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            columns = ", ".join(f"{quoted(column.name)} {duck_type(column.type)}" for column in table.columns)
            connection.execute(f"CREATE TABLE made ({columns})")
            places = ", ".join("?" for _ in table.columns)
            if values:
                connection.executemany(f"INSERT INTO made VALUES ({places})", values)
            made = connection.execute("FROM made").to_arrow_table()
        write_deltalake(out / "tables" / name, made, mode="append", configuration=statistics_settings(table))
    return out


def _for_duckdb(table: Table, row: dict[str, Any]) -> list[Any]:
    """The row's values, with maps as DuckDB wants them."""
    pairs = zip(table.columns, row.values(), strict=True)
    return [
        {"key": list(value), "value": list(value.values())} if c.type.startswith("map") and value is not None else value
        for c, value in pairs
    ]
