"""`compacted`: what a dumped compacted ledger holds, key by key, against the log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.options import EndpointOption, SourceArgument
from pulsar_backlog.options import OPTIONS
from pulsar_backlog.terms import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE


def compacted(
    source: SourceArgument,
    dump: Annotated[Path, typer.Argument(metavar="DUMP", help="file of the compacted ledger", show_default=False)],
    topic: Annotated[str | None, typer.Option(help="full name of the topic, where DUMP does not tell")] = None,
    admin: Annotated[Path | None, typer.Option(help=OPTIONS["admin"].words.help)] = None,
    endpoint: EndpointOption = None,
    show_values: Annotated[bool, typer.Option(help="show keys")] = False,
) -> None:
    """Compare a compacted ledger, copied from BookKeeper into a file, with the topic's log: keys lost, stale or cut."""
    from pulsar_backlog.compacted import compare_view
    from pulsar_backlog.report.terminal.compacted import print_compacted
    from pulsar_backlog.terminal import terminal

    summary = compare_view(absolute("source", source) or "", endpoint, dump, topic, admin, show_values)
    print_compacted(summary, terminal())
    code = EXIT_FINDINGS if summary.is_wrong else EXIT_CLEAN
    raise typer.Exit(EXIT_INCOMPLETE if summary.is_incomplete else code)
