"""A user's query on DuckDB: one SELECT that reaches the tables of one output folder, and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from pulsar_backlog.errors import UsageError
from pulsar_backlog.json_text import in_ascii
from pulsar_backlog.sql.duck import opened, said
from pulsar_backlog.sql.duck_values import bigint_value, json_value, literal, quoted, text_value
from pulsar_backlog.sql.information_schema import relations
from pulsar_backlog.sql.sql_mistakes import (
    ONLY_QUERIES,
    ambiguous_column,
    last_part,
    unknown_column,
    unknown_qualifier,
    unknown_table,
)

_ROWS_AT_ONCE = 10_000


class DuckAnswer:
    """The answer to one query, computed when it is asked for."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, query: str) -> None:
        self._connection, self._query = connection, query
        connection.execute(self._selecting("*", "LIMIT 0"))  # unlike the next line it says in JSON what is wrong
        relation = connection.sql(query)
        self.columns: list[str] = relation.columns
        self._values = [(f"c{at}", kind) for at, kind in enumerate(relation.types)]

    def texts(self, limit: int | None = None) -> Iterator[tuple[str | None, ...]]:
        """The rows, or the first of them, each value as text, null as None."""
        values = ", ".join(text_value(name, kind) for name, kind in self._values)
        return self._rows(self._selecting(values, "" if limit is None else f"LIMIT {limit}"))

    def json_lines(self) -> Iterator[str]:
        """The rows, each as a JSON object on one line, in ASCII."""
        pairs = zip(self.columns, self._values, strict=True)
        members = ", ".join(f"{literal(column)}, {json_value(*value)}" for column, value in pairs)
        lines = self._rows(self._selecting(f"CAST(json_object({members}) AS VARCHAR)"))
        return (in_ascii(line) for (line,) in lines)

    def write_parquet(self, path: Path) -> int:
        """Write one Parquet file: the number of rows."""
        pairs = zip(self.columns, self._values, strict=True)
        values = ", ".join(f"{bigint_value(*value)} AS {quoted(column)}" for column, value in pairs)
        form = "FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false"
        copied = self._connection.execute(f"COPY ({self._selecting(values)}) TO {literal(str(path))} ({form})")
        (rows,) = copied.fetchone() or (0,)
        return int(rows)

    def _rows(self, query: str) -> Iterator[Any]:
        found = self._connection.execute(query)
        while rows := found.fetchmany(_ROWS_AT_ONCE):
            yield from rows

    def _selecting(self, values: str, limit: str = "") -> str:
        """A query over the rows of the user's, whose columns are `c0`, `c1` and so on."""
        names = f"({', '.join(name for name, _ in self._values)})" if values != "*" else ""
        # The line break ends a comment of the user's.
        return f"SELECT {values} FROM ({self._query}\n) AS q{names} {limit}"  # noqa: S608 - it is SQL that a user is to write here


@contextmanager
def asked(out: str, query: str, endpoint: str | None = None, writes: Path | None = None) -> Iterator[DuckAnswer]:
    """A query, bound to the tables and not run yet.

    Raises:
        UsageError: no tables there, SQL that DuckDB does not accept, or an answer that outgrows memory and disk; also
            while the answer is used.
    """
    with _told(query):
        only = _one_query(query)
    with opened(out, only, endpoint, writes=writes) as connection, _told(only):
        for name, relation in relations(only).items():
            connection.execute(f"CREATE VIEW {name} AS {relation.duck_sql()}")
        yield DuckAnswer(connection, only)


def _one_query(text: str) -> str:
    """The text as one query without what ends it."""
    statements = duckdb.extract_statements(text)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UsageError(ONLY_QUERIES)
    return str(statements[0].query).rstrip("; \t\n")


@contextmanager
def _told(query: str) -> Iterator[None]:
    """What DuckDB says against a query becomes one sentence."""
    try:
        yield
    except (duckdb.OutOfMemoryException, duckdb.IOException):
        raise  # no mistake of the query's
    except duckdb.Error as error:
        raise UsageError(_sentence(said(error), query)) from error


def _sentence(said: dict[str, Any], query: str) -> str:
    message = str(said["exception_message"])
    if said.get("error_subtype") == "MISSING_ENTRY" and said.get("type") == "Table":
        return unknown_table(str(said["name"]))
    if said.get("error_subtype") == "COLUMN_NOT_FOUND":
        suggested = [last_part(name) for name in str(said.get("candidates", "")).split(",")]
        return unknown_column(last_part(str(said["name"])), query, suggested)
    if found := re.search(r'does not have a column named "(.*?)"', message):
        return unknown_column(found[1], query)
    if found := re.match(r'Referenced table "(.*?)" not found', message):
        return unknown_qualifier(found[1])
    if found := re.match(r'Ambiguous reference to column name "(.*?)" \(use: (.*)\)', message):
        return ambiguous_column(found[1], re.findall(r'"(.*?)"', found[2]))
    return f"{said['exception_type']}: {message.partition(chr(10))[0]}"
