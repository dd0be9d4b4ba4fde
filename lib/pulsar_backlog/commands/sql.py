"""`sql`: a query over tables and views."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.options import EndpointOption, OutArgument
from pulsar_backlog.counting import counted


def sql(
    out: OutArgument,
    query: Annotated[str, typer.Argument(metavar="SQL", help="a query over the tables and views", show_default=False)],
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="write all rows to this file")] = None,
    format_: Annotated[Literal["json", "parquet"], typer.Option("--format", help="of that file")] = "json",
    engine: Annotated[
        Literal["duckdb", "spark"], typer.Option(help="spark starts a JVM, for data that one machine cannot hold")
    ] = "duckdb",
    endpoint: EndpointOption = None,
) -> None:
    """Ask SQL of the tables in DIR, and of the views of conf/sql by name."""
    from pulsar_backlog.storage.query import run_query, write_query
    from pulsar_backlog.terminal import terminal

    place = absolute("out", out) or ""
    if to is None:
        run_query(place, query, terminal(), engine, endpoint)
        return
    rows = write_query(place, query, format_, to.absolute(), engine, endpoint)
    terminal(stderr=True).print(f"{counted(rows, 'row')} written to {to}", soft_wrap=True)
