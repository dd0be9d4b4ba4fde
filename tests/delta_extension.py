"""DuckDB with its Delta extension: one more reader of tables, from a package, not from the network."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import duckdb
import duckdb_extension_delta


@cache
def delta_connection() -> duckdb.DuckDBPyConnection:
    """A connection whose `delta_scan` reads tables."""
    (extension,) = Path(duckdb_extension_delta.__file__).parent.rglob("*.duckdb_extension")
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{extension}'")
    return connection
