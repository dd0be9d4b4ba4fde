"""`changes`: what audits found new, back, worse, healed or gone, without a JVM."""

from __future__ import annotations

from typing import Annotated

import typer

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.options import EndpointOption, JsonOption, OutArgument
from pulsar_backlog.options import OPTIONS

_SINCE = (
    "from this time on (2026-11-21T03:00:00Z), or from this run on (its run_id, or how that begins); default: only the "
    "last comparison"
)


def changes(
    out: OutArgument,
    since: Annotated[str | None, typer.Option(metavar="TIME|RUN", help=_SINCE, show_default=False)] = None,
    cluster: Annotated[str | None, typer.Option(help=OPTIONS["cluster"].words.help)] = None,
    endpoint: EndpointOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is new, back, worse, healed or gone since the audit before, from the tables in DIR."""
    from pulsar_backlog.report.terminal.changes import change_lines, print_changes
    from pulsar_backlog.sql.changes import changes_since
    from pulsar_backlog.terminal import terminal

    console = terminal()
    with changes_since(absolute("out", out) or "", since, cluster, endpoint) as news:
        if as_json or not console.is_terminal:
            console.file.writelines(change_lines(news.rows()))
        else:
            print_changes(news.since, news.counts(), news.rows(), console)
