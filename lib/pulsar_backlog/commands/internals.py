"""`internals`: ledgers that hold a cluster's own state, with a verdict on each, from the tables of an audit."""

from __future__ import annotations

from typing import Annotated

import typer

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.options import EndpointOption, JsonOption, OutArgument
from pulsar_backlog.options import OPTIONS

_KIND = "only ledgers of this kind, such as schema, cursor or transaction_log"
_VERDICT = "only ledgers of this verdict: ok, lost, leaked or cannot_tell"


def internals(
    out: OutArgument,
    kind: Annotated[str | None, typer.Option(help=_KIND, show_default=False)] = None,
    verdict: Annotated[str | None, typer.Option(help=_VERDICT, show_default=False)] = None,
    cluster: Annotated[str | None, typer.Option(help=OPTIONS["cluster"].words.help)] = None,
    endpoint: EndpointOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what the ledgers beside the messages hold: schemas, policies, transactions, cursors; lost, leaked or well."""
    from pulsar_backlog.report.terminal.internals import internal_lines, print_internals
    from pulsar_backlog.sql.internals import internal_ledgers
    from pulsar_backlog.terminal import terminal

    console = terminal()
    with internal_ledgers(absolute("out", out) or "", cluster, kind, verdict, endpoint) as internal:
        if as_json or not console.is_terminal:
            console.file.writelines(internal_lines(internal.rows()))
        else:
            print_internals(internal.counts(), internal.rows(), console)
