"""`bundle`: one finding with what it stands on, in one zip for a ticket."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pulsar_backlog.arguments import absolute, live_of
from pulsar_backlog.commands.options import Given, OutArgument, job_options
from pulsar_backlog.errors import UsageError
from pulsar_backlog.options import given_options
from pulsar_backlog.options.printed import COMMAND_OPTIONS, rendered
from pulsar_backlog.terms import EXIT_INCOMPLETE

if TYPE_CHECKING:
    from pulsar_backlog.bundles import Made

_TOPIC = "full name of its topic, or a glob that one topic with this finding matches"
_ENTRY = "only this entry (LEDGER:ENTRY); may be repeated"
_TO = "new file; default: CODE.zip in the current folder"
_SOURCE = "where the ledgers are now, if not where the audit read them"


@job_options(*COMMAND_OPTIONS["bundle"])
def bundle(
    out: OutArgument,
    finding: Annotated[str, typer.Option(metavar="CODE", help="code of the finding, such as C06", show_default=False)],
    given: Given,
    topic: Annotated[str | None, typer.Option(help=_TOPIC)] = None,
    subscription: Annotated[str | None, typer.Option(help="only the state and stalls of this subscription")] = None,
    entry: Annotated[list[str] | None, typer.Option(metavar="LEDGER:ENTRY", help=_ENTRY)] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="entries at most")] = 50,
    show_values: Annotated[bool, typer.Option(help="with payloads, keys and property values")] = False,
    to: Annotated[Path | None, typer.Option(metavar="FILE", help=_TO)] = None,
    source: Annotated[str | None, typer.Option(help=_SOURCE)] = None,
) -> None:
    """Put a finding of the audit in DIR into one zip, for people who have no access to the bucket."""
    from datetime import UTC, datetime

    from pulsar_backlog.bundles import Request, make_bundle
    from pulsar_backlog.findings import CATALOGUE
    from pulsar_backlog.ledgers.buckets.addresses import results_at
    from pulsar_backlog.output.bundle_file import entry_name
    from pulsar_backlog.sql.bundle_rows import Choice, rows_of_finding

    if finding not in CATALOGUE:
        raise UsageError(f"--finding: there is no code {finding!r}; docs/findings.md lists them")
    for one in entry or ():
        entry_name(one)
    place, options = absolute("out", out) or "", given_options(given)
    own = {
        "topic": topic, "subscription": subscription, "entry": entry, "limit": limit, "show_values": show_values,
        "cluster": options.cluster, "endpoint": options.endpoint,
    }  # fmt: skip
    choice = Choice(finding, topic, subscription, entry or (), limit)
    with results_at(place, options.endpoint):
        rows = rows_of_finding(place, choice, options.cluster, options.endpoint, show_values=show_values)
        read_from = options.model_copy(update={"source": source or rows.source})
        request = Request(
            to or Path(f"{finding}.zip"), place, finding, _typed(out, finding, own),
            datetime.now(UTC), options.endpoint, source, live_of(read_from), show_values,
        )  # fmt: skip
        made = make_bundle(request, rows)
    _show(made, request.to)
    raise typer.Exit(EXIT_INCOMPLETE if made.left_out else 0)


def _typed(out: str, finding: str, options: Mapping[str, object]) -> str:
    """The command, as somebody else would type it."""
    from pulsar_backlog.foreign_text import shell_word

    words = ["pulsar-backlog", "bundle", out, "--finding", finding]
    words += [word for name, value in options.items() for word in rendered(f"--{name.replace('_', '-')}", value)]
    return " ".join(map(shell_word, words))


def _show(made: Made, path: Path) -> None:
    from pulsar_backlog.counting import counted
    from pulsar_backlog.foreign_text import MAX_SENTENCE, shell_word, visible

    rows = sum(made.rows.values())
    typer.echo(f"{visible(str(path))}: {counted(rows, 'row')} and {counted(len(made.entries), 'entry')}.")
    for words in made.left_out:
        typer.echo(visible(f"Not in it: {words}", MAX_SENTENCE), err=True)
    if made.entries:
        typer.echo(f"Whoever gets it types: pulsar-backlog explain {shell_word(str(path))} {made.entries[0]}")
