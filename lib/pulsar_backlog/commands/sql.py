"""`sql`: a query over tables and views."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.options import EndpointOption, OutArgument
from pulsar_backlog.counting import counted
from pulsar_backlog.errors import UsageError

_Format = Literal["table", "vertical", "markdown", "csv", "json", "jsonl", "parquet"]


def sql(
    out: OutArgument,
    query: Annotated[
        str,
        typer.Argument(
            metavar="SQL",
            help="a query over the tables and views, in DuckDB's SQL or in Spark's; SHOW TABLES and DESCRIBE NAME say "
            "which there are",
            show_default=False,
        ),
    ],
    to: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="write all rows to this file; its name's end says the format"),
    ] = None,
    format_: Annotated[
        _Format | None,
        typer.Option(
            "--format",
            help="of the rows; parquet is for --to only. By itself a terminal shows a table, or one value a line "
            "where a table is too wide, and a program gets tab-separated text",
            show_default=False,
        ),
    ] = None,
    engine: Annotated[
        Literal["duckdb", "spark"], typer.Option(help="spark starts a JVM, for data that one machine cannot hold")
    ] = "duckdb",
    dialect: Annotated[
        Literal["duckdb", "spark"],
        typer.Option(
            help="whose SQL the query is; duckdb takes Spark's too where DuckDB does not accept it, with spark all "
            "means what it means on a cluster"
        ),
    ] = "duckdb",
    endpoint: EndpointOption = None,
) -> None:
    """Ask SQL of the tables in DIR, and of the views of conf/sql by name."""
    from pulsar_backlog.sql.query import run_query, write_query
    from pulsar_backlog.terminal import terminal

    place = absolute("out", out) or ""
    if to is None:
        if format_ == "parquet":
            raise UsageError("--format parquet is for files: name one with --to")
        run_query(place, query, terminal(), engine, endpoint, format_, dialect)
        return
    rows = write_query(place, query, _file_format(to, format_), to.absolute(), engine, endpoint, dialect)
    terminal(stderr=True).print(f"{counted(rows, 'row')} written to {to}", soft_wrap=True)


def _file_format(to: Path, format_: _Format | None) -> Any:
    from pulsar_backlog.sql.query import EXTENSIONS

    form = format_ or EXTENSIONS.get(to.suffix.lower())
    if form is None:
        raise UsageError(f"--to {to}: the name ends in none of {', '.join(EXTENSIONS)}; say which with --format")
    if form == "table":
        raise UsageError(
            "--format table is for a terminal: a file takes csv, json, jsonl, markdown, parquet or vertical"
        )
    return form
