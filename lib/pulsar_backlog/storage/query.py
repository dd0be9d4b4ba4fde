"""Ad-hoc SQL over the tables of an output folder, and the views of conf/sql, by name."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from pulsar_backlog.errors import UsageError
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.private_files import private_file
from pulsar_backlog.whole_files import replacing

if TYPE_CHECKING:
    from rich.console import Console

Engine = Literal["duckdb", "spark"]
"""DuckDB answers at once, in this process; Spark answers what one machine cannot hold."""
FileKind = Literal["json", "parquet"]

MAX_ROWS = 1000
"""Rows printed at most; more are said to be there, not fetched."""


class Answer(Protocol):
    """What an engine gives; both give the same."""

    columns: list[str]

    def texts(self, limit: int) -> list[tuple[str | None, ...]]:
        """The first rows, each value as text."""

    def write_json(self, path: Path) -> int:
        """Write all rows: their number."""

    def write_parquet(self, path: Path) -> int:
        """Write all rows: their number."""


def run_query(out: str, query: str, console: Console, engine: Engine = "duckdb", endpoint: str | None = None) -> None:
    """Run a query and print its rows: a grid on a terminal, tab-separated text elsewhere.

    Times are UTC in ISO 8601, bytes are hex, what is nested is JSON.

    Raises:
        UsageError: no tables there, or SQL that the engine does not accept.
    """
    with _asked(out, query, engine, endpoint) as answer:
        rows = answer.texts(MAX_ROWS + 1)
        _print([_text(name) for name in answer.columns], [list(map(_text, row)) for row in rows[:MAX_ROWS]], console)
    if len(rows) > MAX_ROWS:
        console.print(f"... more than {MAX_ROWS} rows; add a LIMIT, or write the result to a file with --to")


def write_query(
    out: str, query: str, kind: FileKind, path: Path, engine: Engine = "duckdb", endpoint: str | None = None
) -> int:
    """Run a query and write all its rows to one file: the number of rows.

    JSON is one object per line, in ASCII, with times in ISO 8601 and bytes in base64. What was at `path` is replaced
    when all is written. Only its owner may read it: a query may ask for payloads.

    Raises:
        UsageError: no tables there, SQL that the engine does not accept, or a file that cannot be written.
    """
    try:
        with replacing(path) as part:
            with private_file(part):  # before the query: what cannot be written is told at once
                pass
            with _asked(out, query, engine, endpoint, part) as answer:
                return answer.write_json(part) if kind == "json" else answer.write_parquet(part)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def _asked(
    out: str, query: str, engine: Engine, endpoint: str | None, writes: Path | None = None
) -> AbstractContextManager[Answer]:
    if engine == "spark":
        from pulsar_backlog.storage import spark_query  # noqa: PLC0415 - starts a JVM

        return spark_query.asked(out, query)
    from pulsar_backlog.storage import duck_query  # noqa: PLC0415 - of no use to Spark

    return duck_query.asked(out, query, endpoint, writes)


def _text(value: str | None) -> str:
    """A value as text on one line that cannot steer a terminal, whole."""
    return visible(value or "", sys.maxsize)


def _print(columns: list[str], rows: list[list[str]], console: Console) -> None:
    if not console.is_terminal:
        for line in (columns, *rows):
            console.file.write("\t".join(line) + "\n")
        return
    from rich.table import Table as Grid  # noqa: PLC0415 - only people want a grid

    grid = Grid(*columns)
    for line in rows:
        grid.add_row(*line)
    console.print(grid, markup=False)
