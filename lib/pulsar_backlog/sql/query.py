"""Ad-hoc SQL over the tables of an output folder, and the views of conf/sql, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from pulsar_backlog.errors import UsageError
from pulsar_backlog.foreign_text import visible_lines
from pulsar_backlog.private_files import private_file
from pulsar_backlog.sql.row_formats import (
    Texts,
    csv_lines,
    fits_grid,
    json_array,
    json_lines,
    markdown_lines,
    print_grid,
    tab_lines,
    vertical_lines,
)
from pulsar_backlog.whole_files import replacing

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

Engine = Literal["duckdb", "spark"]
"""DuckDB answers at once, in this process; Spark answers what one machine cannot hold."""
Dialect = Literal["duckdb", "spark"]
"""Whose SQL a query is: DuckDB's, and Spark's only where DuckDB does not accept it; or Spark's alone."""
PrintFormat = Literal["table", "vertical", "markdown", "csv", "json", "jsonl"]
FileFormat = Literal["csv", "json", "jsonl", "markdown", "parquet", "vertical"]

EXTENSIONS: dict[str, FileFormat] = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".md": "markdown",
    ".parquet": "parquet",
}
"""What a file's name says of its format."""
MAX_ROWS = 1000
"""Rows printed for people at most; more are said to be there, not fetched."""

_OF_OBJECTS = {"json": json_array, "jsonl": json_lines}
_OF_TEXTS = {"csv": csv_lines, "markdown": markdown_lines, "vertical": vertical_lines}
_FOR_PROGRAMS = frozenset({"csv", *_OF_OBJECTS})

_Row = TypeVar("_Row")


class Answer(Protocol):
    """What an engine gives; both give the same."""

    columns: list[str]

    def texts(self, limit: int | None = None) -> Iterable[Texts]:
        """The rows, or the first of them, each value as text, null as None."""

    def json_lines(self) -> Iterable[str]:
        """The rows, each as a JSON object on one line, in ASCII."""

    def write_parquet(self, path: Path) -> int:
        """Write all rows: their number."""


def run_query(
    out: str,
    query: str,
    console: Console,
    engine: Engine = "duckdb",
    endpoint: str | None = None,
    form: PrintFormat | None = None,
    dialect: Dialect = "duckdb",
) -> None:
    """Run a query and print its rows.

    Without a format: on a terminal a grid, or one value a line where that does not fit; elsewhere tab-separated text.
    Times are UTC in ISO 8601, bytes are hex, what is nested is JSON. CSV and JSON are for programs, and have all rows.

    Raises:
        UsageError: no tables there, or SQL that the engine does not accept.
    """
    with _answer(out, query, engine, endpoint, dialect) as answer:
        if form is not None and form in _FOR_PROGRAMS:
            console.file.writelines(map(visible_lines, _lines(answer, form, _Counted())))
            return
        rows = list(answer.texts(MAX_ROWS + 1))
        _print(answer.columns, rows[:MAX_ROWS], console, form)
    if len(rows) > MAX_ROWS:
        console.print(f"... more than {MAX_ROWS} rows; add a LIMIT, or write the result to a file with --to")


def write_query(
    out: str,
    query: str,
    form: FileFormat,
    path: Path,
    engine: Engine = "duckdb",
    endpoint: str | None = None,
    dialect: Dialect = "duckdb",
) -> int:
    """Run a query and write all its rows to one file: the number of rows.

    JSON is in ASCII, with times in ISO 8601 and bytes in base64; text is as `run_query` has it. What was at `path` is
    replaced when all is written. Only its owner may read it: a query may ask for payloads.

    Raises:
        UsageError: no tables there, SQL that the engine does not accept, or a file that cannot be written.
    """
    try:
        with replacing(path) as part:
            with private_file(part):  # before the query: what cannot be written is told at once
                pass
            with _answer(out, query, engine, endpoint, dialect, part) as answer:
                if form == "parquet":
                    return answer.write_parquet(part)
                counted = _Counted()
                with private_file(part) as file:
                    file.writelines(line.encode() for line in _lines(answer, form, counted))
                return counted.rows
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def query_batches(out: str, query: str, endpoint: str | None = None) -> pa.RecordBatchReader:
    """Run a query on DuckDB and give its rows as they are asked for; numbers of any width are as Arrow has them.

    Raises:
        UsageError: no tables there, or SQL that is not accepted.
    """
    from pulsar_backlog.sql import duck_query  # noqa: PLC0415 - help does without DuckDB
    from pulsar_backlog.sql.information_schema import as_query  # noqa: PLC0415 - likewise

    return duck_query.record_batches(out, as_query(query), endpoint)


def _answer(
    out: str, query: str, engine: Engine, endpoint: str | None, dialect: Dialect, writes: Path | None = None
) -> AbstractContextManager[Answer]:
    from pulsar_backlog.sql.information_schema import as_query  # noqa: PLC0415 - help does without DuckDB

    query = as_query(query)
    if engine == "spark":
        from pulsar_backlog.sql import spark_query  # noqa: PLC0415 - starts a JVM

        return spark_query.spark_answer(out, query)
    from pulsar_backlog.sql import duck_query  # noqa: PLC0415 - of no use to Spark

    return duck_query.duck_answer(out, query, endpoint, writes, is_spark=dialect == "spark")


class _Counted:
    """Rows that went by."""

    rows = 0

    def __call__(self, rows: Iterable[_Row]) -> Iterator[_Row]:
        for row in rows:
            self.rows += 1
            yield row


def _lines(answer: Answer, form: str, counted: _Counted) -> Iterator[str]:
    """All rows as lines of a format."""
    if form in _OF_OBJECTS:
        return _OF_OBJECTS[form](counted(answer.json_lines()))
    return _OF_TEXTS[form](answer.columns, counted(answer.texts()))


def _print(columns: list[str], rows: Sequence[Texts], console: Console, form: PrintFormat | None) -> None:
    if form is None and console.is_terminal:
        form = "table" if fits_grid(columns, rows, console.width) else "vertical"
    if form == "table":
        print_grid(columns, rows, console)
        return
    lines = tab_lines if form is None else _OF_TEXTS[form]
    console.file.writelines(lines(columns, rows))
