"""`sql`: a query over tables and views."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.places import OutArgument


def sql(
    out: OutArgument,
    query: Annotated[str, typer.Argument(metavar="SQL", help="a query over the tables and views", show_default=False)],
) -> None:
    """Ask SQL of the tables in DIR, and of the views of conf/sql by name."""
    from pulsar_backlog.storage.query import run_query  # noqa: PLC0415 - starts Spark

    run_query(absolute("out", out) or "", query, Console())
