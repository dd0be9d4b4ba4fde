"""What there is to ask: SQL's information schema of tables and views, with the sentence of each, for both engines.

`SHOW TABLES` and `DESCRIBE` are queries of it. Neither engine lets anybody add to its own, so that the two relations
have names of one word inside a query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pulsar_backlog.errors import UsageError
from pulsar_backlog.sql.duck_values import literal
from pulsar_backlog.sql.sql_mistakes import unknown_table
from pulsar_backlog.sql.view_columns import view_columns
from pulsar_backlog.sql.views import views
from pulsar_backlog.tables import TABLES

_SCHEMA = "information_schema"
_RELATION = re.compile(
    rf"""["`]?\b{_SCHEMA}\b["`]?\s*\.\s*["`]?\b(tables|columns)\b["`]?"""
    r"""|'[^']*'|"[^"]*"|--[^\n]*|/\*.*?\*/""",
    re.IGNORECASE | re.DOTALL,
)
"""One of the two relations, or text in which such a name means nothing."""
_COMMENT = r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*"
_NAME = r"""["`]?(?P<name>\w+)["`]?"""
_SHOW_TABLES = re.compile(r"SHOW\s+(?:ALL\s+)?(?P<what>TABLES|VIEWS)", re.IGNORECASE)
_DESCRIBE = re.compile(
    rf"(?:(?:DESCRIBE|DESC)\s+(?:(?:TABLE|VIEW)\s+)?(?:EXTENDED\s+)?|SHOW\s+COLUMNS\s+(?:FROM|IN)\s+){_NAME}",
    re.IGNORECASE,
)
_NO_NAMES = frozenset({"query", "select", "with", "values", "from", "table", "function", "history", "detail"})


def as_query(text: str) -> str:
    """What a user wrote as a query that an engine takes, with the relations by their names of one word."""
    words = re.sub(rf"\A{_COMMENT}|{_COMMENT}(?:;{_COMMENT})*\Z", "", text, flags=re.DOTALL)
    if shown := _SHOW_TABLES.fullmatch(words):
        only = " WHERE table_type = 'VIEW'" if shown["what"].upper() == "VIEWS" else ""
        return (
            f"SELECT table_name AS name, table_type AS type, comment FROM {_SCHEMA}_tables{only} "  # noqa: S608 - of words here
            "ORDER BY table_type, table_name"
        )
    shown = _DESCRIBE.fullmatch(words)
    if shown and shown["name"].lower() not in _NO_NAMES:
        return _describe(shown["name"].lower())
    return _RELATION.sub(lambda match: f"{_SCHEMA}_{match[1].lower()}" if match[1] else match[0], text)


@dataclass(frozen=True)
class Relation:
    """One of the two relations."""

    columns: tuple[str, ...]
    rows: list[tuple[str | int | None, ...]]

    def duck_sql(self) -> str:
        """It as a query of DuckDB's, without pyarrow, which is slow to load."""
        rows = (
            f"({', '.join('NULL' if v is None else str(v) if isinstance(v, int) else literal(v) for v in row)})"
            for row in self.rows
        )
        names = ", ".join(self.columns)
        return f"SELECT * FROM (VALUES {', '.join(rows)}) AS v({names})"  # noqa: S608 - names of this module


def relations(query: str) -> dict[str, Relation]:
    """Those of the two relations that stand in a query, by name."""
    builders = {f"{_SCHEMA}_tables": _tables, f"{_SCHEMA}_columns": _columns}
    return {name: relation() for name, relation in builders.items() if re.search(rf"\b{name}\b", query)}


def _describe(name: str) -> str:
    if name not in TABLES and name not in views():
        raise UsageError(unknown_table(name))
    return (
        f"SELECT column_name, data_type, is_nullable, comment FROM {_SCHEMA}_columns "  # noqa: S608 - a known name
        f"WHERE table_name = '{name}' ORDER BY ordinal_position"
    )


def _tables() -> Relation:
    rows: list[tuple[str | int | None, ...]] = [(name, "BASE TABLE", table.comment) for name, table in TABLES.items()]
    rows += [(name, "VIEW", sql.partition("\n")[0].removeprefix("-- ")) for name, sql in views().items()]
    return Relation(("table_name", "table_type", "comment"), rows)


def _columns() -> Relation:
    rows: list[tuple[str | int | None, ...]] = [
        (table.name, column.name, at, column.type, "YES" if column.nullable else "NO", column.comment)
        for table in TABLES.values()
        for at, column in enumerate(table.columns, 1)
    ]
    shared = _shared_sentences()
    for view, columns in view_columns().items():
        rows += [(view, name, at, kind, "YES", shared.get(name)) for at, (name, kind) in enumerate(columns, 1)]
    return Relation(("table_name", "column_name", "ordinal_position", "data_type", "is_nullable", "comment"), rows)


def _shared_sentences() -> dict[str, str]:
    """Sentences of columns that mean the same in each table that has them; so they do in a view."""
    by_name: dict[str, list[str]] = {}
    for table in TABLES.values():
        for column in table.columns:
            by_name.setdefault(column.name, []).append(column.comment)
    return {name: texts[0] for name, texts in by_name.items() if len(texts) > 1 and len(set(texts)) == 1}
