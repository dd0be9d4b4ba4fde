"""`explain`: one entry, byte by byte."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.options import EndpointOption, SourceArgument
from pulsar_backlog.options import OPTIONS


def explain(
    source: SourceArgument,
    position: Annotated[str, typer.Argument(metavar="LEDGER:ENTRY", help="position of the entry", show_default=False)],
    endpoint: EndpointOption = None,
    admin: Annotated[str | None, typer.Option(help=OPTIONS["admin"].words.help)] = None,
    show_values: Annotated[bool, typer.Option(help="show payload, keys and property values")] = False,
) -> None:
    """Show one entry: hex beside fields, metadata, checksum, its chunked message, and who acknowledged it."""
    from pulsar_backlog.explain import explain_entry  # noqa: PLC0415 - the other commands do without it
    from pulsar_backlog.report.terminal.explain import NamedValue, print_explain  # noqa: PLC0415

    model = explain_entry(absolute("source", source) or "", endpoint, position, show_values)
    if admin is not None:
        from pulsar_backlog.subscriptions.position_acks import acknowledged_by  # noqa: PLC0415

        ledger_id, entry_id = map(int, position.split(":"))
        said = acknowledged_by(Path(admin), model.topic, (ledger_id, entry_id))
        model = replace(model, subscriptions=tuple(NamedValue(name, words) for name, words in said))
    print_explain(model, Console())
