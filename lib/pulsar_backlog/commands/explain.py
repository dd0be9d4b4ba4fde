"""`explain`: one entry, byte by byte."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pulsar_backlog.arguments import absolute, live_of
from pulsar_backlog.commands.connection import (
    BrokerHostOption,
    CaFileOption,
    CertFileOption,
    KeyFileOption,
    TokenFileOption,
    TokenWithoutTlsOption,
)
from pulsar_backlog.commands.options import EndpointOption, SourceArgument
from pulsar_backlog.options import OPTIONS, given_options
from pulsar_backlog.terminal import terminal


def explain(
    source: SourceArgument,
    position: Annotated[str, typer.Argument(metavar="LEDGER:ENTRY", help="position of the entry", show_default=False)],
    endpoint: EndpointOption = None,
    admin: Annotated[str | None, typer.Option(help=OPTIONS["admin"].words.help)] = None,
    live: Annotated[str | None, typer.Option(help=OPTIONS["live"].words.help)] = None,
    admin_url: Annotated[str | None, typer.Option(help=OPTIONS["admin_url"].words.help)] = None,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
    cert_file: CertFileOption = None,
    key_file: KeyFileOption = None,
    timeout_seconds: Annotated[int, typer.Option(min=1, help="how long a broker may take for one answer")] = 30,
    token_without_tls: TokenWithoutTlsOption = False,
    broker_host: BrokerHostOption = None,
    show_values: Annotated[bool, typer.Option(help="show payload, keys and property values")] = False,
) -> None:
    """Show one entry: hex beside fields, metadata, checksum, its chunked message, and who acknowledged it."""
    from pulsar_backlog.explain import explain_entry
    from pulsar_backlog.report.terminal.explain import NamedValue, print_explain

    place = absolute("source", source) or ""
    given: dict[str, object] = {
        "source": place, "live": live, "admin_url": admin_url, "admin": admin, "token_file": _text(token_file),
        "ca_file": _text(ca_file), "cert_file": _text(cert_file), "key_file": _text(key_file),
        "timeout_seconds": timeout_seconds, "token_without_tls": token_without_tls, "broker_host": broker_host,
    }  # fmt: skip
    brokers = live_of(given_options({name: value for name, value in given.items() if value is not None}))
    model = explain_entry(place, endpoint, position, show_values, brokers)
    if admin is not None:
        from dataclasses import replace

        from pulsar_backlog.subscriptions.position_acks import acknowledged_by

        ledger_id, entry_id = map(int, position.split(":"))
        said = acknowledged_by(Path(admin), model.topic, (ledger_id, entry_id))
        model = replace(model, subscriptions=tuple(NamedValue(name, words) for name, words in said))
    print_explain(model, terminal())


def _text(path: Path | None) -> str | None:
    return str(path) if path else None
