"""`messages`: the messages of a topic at once, without an audit and without a JVM."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.options import Given, JsonOption, SourceArgument, job_options
from pulsar_backlog.options import given_options, in_time_order
from pulsar_backlog.options.printed import COMMAND_OPTIONS
from pulsar_backlog.terminal import terminal


@job_options(
    *COMMAND_OPTIONS["messages"],
    words={
        "since": "only messages published from this time on",
        "until": "only messages published before this time",
        "decode": "show payloads as schema, schema:VERSION, json, text, bytes or avro-with:FILE decodes them",
    },
)
def messages(
    source: SourceArgument,
    given: Given,
    limit: Annotated[int, typer.Option(min=1, help="most messages to show")] = 20,
    visible: Annotated[
        Literal["committed", "stored", "compacted"],
        typer.Option(help="what readers get, all that is stored, or what readers of the compacted topic get"),
    ] = "committed",
    allowed_lateness_seconds: Annotated[
        int, typer.Option(min=0, help="how far publish times may be from when ledgers took their messages")
    ] = 300,
    show_values: Annotated[bool, typer.Option(help="show payload, keys and properties")] = False,
    json_lines: JsonOption = False,
) -> None:
    """Show the messages of topics, the oldest first: rebuilt, decrypted, decompressed. Reads no more than it shows."""
    from pulsar_backlog.forgone_modules import forgo_pandas

    forgo_pandas()
    from pulsar_backlog.api.backlog import Backlog
    from pulsar_backlog.report.terminal.messages import print_messages

    options = in_time_order(given_options({**given, "source": absolute("source", source)}))
    reader = Backlog(options).messages(
        options.topic or (),
        since=options.since,
        until=options.until,
        producer=options.producer or (),
        key=options.key or (),
        transactions=options.transactions or "committed",
        visible=visible,
        decode=options.decode or False,
        mask=options.mask or (),
        allowed_lateness_seconds=allowed_lateness_seconds,
        columns=_columns(show_values=show_values, decode=options.decode is not None),
    )
    print_messages(reader, limit, terminal(), as_json=json_lines)


def _columns(*, show_values: bool, decode: bool) -> tuple[str, ...]:
    from pulsar_backlog.report.terminal.messages import COLUMNS, DECODED, VALUES

    return COLUMNS + (VALUES if show_values else ()) + (DECODED if decode else ())
