"""The views of conf/sql, and what stands in a query."""

from __future__ import annotations

import re

from pulsar_backlog.config import home
from pulsar_backlog.tables import TABLES


def views() -> dict[str, str]:
    """SQL by name. Spark and DuckDB run all of them, and give equal rows."""
    return {path.stem: path.read_text() for path in sorted((home() / "conf" / "sql").glob("*.sql"))}


def named_in(query: str) -> tuple[set[str], dict[str, str]]:
    """Tables, and views, that stand in a query or in a view that it names; perhaps more, when words are in texts."""
    words = words_of(query)
    queries = {name: sql for name, sql in views().items() if name in words}
    for sql in queries.values():
        words |= words_of(sql)
    return {name for name in TABLES if name in words}, queries


def words_of(sql: str) -> set[str]:
    """What may be a name in a query, in lower case."""
    return set(re.findall(r"\w+", sql.lower()))
