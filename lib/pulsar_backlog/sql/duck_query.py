"""A user's query on DuckDB: one SELECT that reaches the tables of one output folder, and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from pulsar_backlog.errors import UsageError
from pulsar_backlog.json_text import in_ascii
from pulsar_backlog.sql.duck import error_details, opened
from pulsar_backlog.sql.duck_scope import refusal
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

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE = 10_000
_FAULTS = (duckdb.OutOfMemoryException, duckdb.IOException)
"""No mistakes of a query."""


class DuckAnswer:
    """The answer to one query, computed when it is asked for."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, query: str) -> None:
        self._connection, self._query = connection, query
        if (why := refusal(connection, query)) is not None:
            raise UsageError(why)
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

    def record_batches(self) -> pa.RecordBatchReader:
        """All rows, computed as they are read."""
        pairs = zip(self.columns, self._values, strict=True)
        values = ", ".join(f"{bigint_value(*value)} AS {quoted(column)}" for column, value in pairs)
        return self._connection.execute(self._selecting(values)).to_arrow_reader(_ROWS_AT_ONCE)

    def _rows(self, query: str) -> Iterator[Any]:
        cursor = self._connection.execute(query)
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            yield from rows

    def _selecting(self, values: str, limit: str = "") -> str:
        """A query over the rows of the user's, whose columns are `c0`, `c1` and so on."""
        names = f"({', '.join(name for name, _ in self._values)})" if values != "*" else ""
        # The line break ends a comment of the user's.
        return f"SELECT {values} FROM ({self._query}\n) AS q{names} {limit}"  # noqa: S608 - it is SQL that a user is to write here


@contextmanager
def duck_answer(
    out: str, query: str, endpoint: str | None = None, writes: Path | None = None, *, is_spark: bool = False
) -> Iterator[DuckAnswer]:
    """A query, bound to the tables and not run yet: as DuckDB reads it, or else as Spark does.

    Args:
        out: folder or bucket of the tables.
        query: of the user.
        endpoint: of an S3 service that is not AWS.
        writes: the one file that may be written.
        is_spark: whether it is Spark's SQL, whatever DuckDB would read.

    Raises:
        UsageError: no tables there, SQL that is neither's, or an answer that outgrows memory and disk; also while the
            answer is used.
    """
    if is_spark:
        query = _spark_only(query)
    with suppress(duckdb.Error):
        _one_query(query)  # what is none is refused before a table is opened
    with opened(out, query, endpoint, writes=writes) as connection:
        for name, relation in relations(query).items():
            connection.execute(f"CREATE VIEW {name} AS {relation.duck_sql()}")
        with _mistakes_as_usage_errors(query):
            yield DuckAnswer(connection, _one_query(query)) if is_spark else _answer(connection, query)


def _answer(connection: duckdb.DuckDBPyConnection, query: str) -> DuckAnswer:
    """As DuckDB reads the query, or else as Spark does."""
    try:
        return DuckAnswer(connection, _one_query(query))
    except duckdb.Error as error:
        translation = None if isinstance(error, _FAULTS) else _translation(query)
        if translation is None:
            raise
        try:
            return DuckAnswer(connection, translation)
        except duckdb.Error as second:
            raise second if _is_foreign(error) and not isinstance(second, _FAULTS) else error from error


def _spark_only(query: str) -> str:
    from pulsar_backlog.sql.dialect import duck_sql  # noqa: PLC0415 - loads sqlglot
    from pulsar_backlog.sql.dialect_rules import TranslationError  # noqa: PLC0415 - likewise

    try:
        return duck_sql(query)
    except TranslationError as error:
        raise UsageError(f"DuckDB cannot be asked this in Spark's SQL: {error}; ask with --engine spark") from error


def _translation(query: str) -> str | None:
    """What DuckDB is asked for a query of Spark's; None where it is none of those that can be translated."""
    from pulsar_backlog.sql.dialect import duck_sql  # noqa: PLC0415 - loads sqlglot, which takes 0.1 s
    from pulsar_backlog.sql.dialect_rules import TranslationError  # noqa: PLC0415 - likewise

    try:
        return _one_query(duck_sql(query))
    except (TranslationError, duckdb.Error):
        return None


def _is_foreign(error: duckdb.Error) -> bool:
    """Whether an error is about words that DuckDB does not know, so that it says nothing of what the query asks."""
    parts = error_details(error)
    return (
        isinstance(error, duckdb.ParserException)
        or (isinstance(error, duckdb.CatalogException) and parts.get("type") != "Table")
        or str(parts["exception_message"]).startswith("No function matches")
    )


def record_batches(out: str, query: str, endpoint: str | None) -> pa.RecordBatchReader:
    """All rows of a query; the tables stay open until the last one was read.

    Raises:
        UsageError: as `asked` does.
    """
    with ExitStack() as stack:
        batches = stack.enter_context(duck_answer(out, query, endpoint)).record_batches()
        open_until_read = stack.pop_all()

    def rows() -> Iterator[pa.RecordBatch]:
        with open_until_read:
            yield from batches

    import pyarrow as pa  # noqa: PLC0415 - the slowest to import; answers on a terminal do without

    return pa.RecordBatchReader.from_batches(batches.schema, rows())


def _one_query(text: str) -> str:
    """The text as one query without what ends it."""
    statements = duckdb.extract_statements(text)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UsageError(ONLY_QUERIES)
    return str(statements[0].query).rstrip("; \t\n")


@contextmanager
def _mistakes_as_usage_errors(query: str) -> Iterator[None]:
    """What DuckDB says against a query becomes one sentence."""
    try:
        yield
    except _FAULTS:
        raise
    except duckdb.Error as error:
        raise UsageError(_sentence(error_details(error), query)) from error


def _sentence(details: dict[str, Any], query: str) -> str:
    message = str(details["exception_message"])
    if details.get("error_subtype") == "MISSING_ENTRY" and details.get("type") == "Table":
        return unknown_table(str(details["name"]))
    if details.get("error_subtype") == "COLUMN_NOT_FOUND":
        suggested = [last_part(name) for name in str(details.get("candidates", "")).split(",")]
        return unknown_column(last_part(str(details["name"])), query, suggested)
    if match := re.search(r'does not have a column named "(.*?)"', message):
        return unknown_column(match[1], query)
    if match := re.match(r'Referenced table "(.*?)" not found', message):
        return unknown_qualifier(match[1])
    if match := re.match(r'Ambiguous reference to column name "(.*?)" \(use: (.*)\)', message):
        return ambiguous_column(match[1], re.findall(r'"(.*?)"', match[2]))
    return f"{details['exception_type']}: {message.partition(chr(10))[0]}"
