"""`explain`: one entry, byte by byte."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pulsar_backlog.arguments import absolute, live_of
from pulsar_backlog.commands.options import Given, SourceArgument, job_options
from pulsar_backlog.options import given_options
from pulsar_backlog.options.printed import COMMAND_OPTIONS
from pulsar_backlog.terminal import terminal


@job_options(*COMMAND_OPTIONS["explain"])
def explain(
    source: SourceArgument,
    position: Annotated[str, typer.Argument(metavar="LEDGER:ENTRY", help="position of the entry", show_default=False)],
    given: Given,
    show_values: Annotated[bool, typer.Option(help="show payload, keys and property values")] = False,
) -> None:
    """Show one entry: hex beside fields, metadata, checksum, its chunked message, and who acknowledged it."""
    from pulsar_backlog.explain import explain_entry
    from pulsar_backlog.output.bundle_file import is_bundle
    from pulsar_backlog.report.terminal.explain import NamedValue, print_explain

    options = given_options({**given, "source": absolute("source", source)})
    if is_bundle(options.source or ""):
        from pulsar_backlog.bundles import explain_bundled

        print_explain(explain_bundled(options.source or "", position, show_values), terminal())
        return
    model = explain_entry(options.source or "", options.endpoint, position, show_values, live_of(options))
    if options.admin is not None:
        from dataclasses import replace

        from pulsar_backlog.subscriptions.position_acks import acknowledged_by

        ledger_id, entry_id = map(int, position.split(":"))
        acknowledgement = acknowledged_by(Path(options.admin), model.topic, (ledger_id, entry_id))
        model = replace(model, subscriptions=tuple(NamedValue(name, words) for name, words in acknowledgement))
    print_explain(model, terminal())
