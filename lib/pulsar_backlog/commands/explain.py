"""`explain`: one entry, byte by byte."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.places import EndpointOption, SourceArgument


def explain(
    source: SourceArgument,
    position: Annotated[str, typer.Argument(metavar="LEDGER:ENTRY", help="position of the entry", show_default=False)],
    endpoint: EndpointOption = None,
    show_values: Annotated[bool, typer.Option(help="show payload, keys and property values")] = False,
) -> None:
    """Show one entry: hex beside fields, metadata, checksum, and the chunked message it belongs to."""
    from pulsar_backlog.explain import explain_entry  # noqa: PLC0415 - the other commands do without it
    from pulsar_backlog.report.explain import print_explain  # noqa: PLC0415

    print_explain(explain_entry(absolute("source", source) or "", endpoint, position, show_values), Console())
