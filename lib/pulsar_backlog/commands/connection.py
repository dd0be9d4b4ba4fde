"""Options of every command that speaks to a live cluster. Secrets come from files and environment, never from here."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from pulsar_backlog.cluster.access import Access, read_access
from pulsar_backlog.commands.options import with_options
from pulsar_backlog.ledgers.live.service import DEFAULT_RATE, Live
from pulsar_backlog.options import OPTIONS

AdminUrlOption = Annotated[
    str, typer.Option("--admin-url", help="web service of a broker, such as http://broker:8080", show_default=False)
]
ServiceUrlOption = Annotated[
    str, typer.Option("--service-url", help="the brokers' service, such as pulsar://broker:6650", show_default=False)
]
EncryptionKeyOption = Annotated[
    list[str] | None,
    typer.Option("--encryption-key", help="name of a key that encrypts republished messages again; may be repeated"),
]
PublicKeyFileOption = Annotated[
    list[Path] | None, typer.Option("--public-key-file", help="PEM file of that key, to encrypt; one for each name")
]
PrivateKeyFileOption = Annotated[
    Path | None, typer.Option("--private-key-file", help="PEM file of one of them, to read back what was republished")
]


def _declared(name: str) -> Any:
    """An option that jobs have too, with its words."""
    return typer.Option(OPTIONS[name].flag, help=OPTIONS[name].words.help)


@dataclass(frozen=True)
class Connection:
    """How a user wants to be connected."""

    token_file: Annotated[Path | None, _declared("token_file")] = None
    ca_file: Annotated[Path | None, _declared("ca_file")] = None
    cert_file: Annotated[Path | None, _declared("cert_file")] = None
    key_file: Annotated[Path | None, _declared("key_file")] = None
    timeout_seconds: Annotated[float, typer.Option("--timeout-seconds", help="how long one answer may take")] = 30.0
    token_without_tls: Annotated[bool, _declared("token_without_tls")] = False
    broker_host: Annotated[
        list[str] | None,
        typer.Option(
            "--broker-host", help="host (glob) that gets the token too when --admin-url redirects to it; repeat"
        ),
    ] = None

    def access(self) -> Access:
        """What proves who we are.

        Raises:
            UsageError: a file cannot be read, or the token is none.
        """
        return read_access(
            self.token_file, self.ca_file, self.cert_file, self.key_file, self.timeout_seconds, os.environ,
            token_without_tls=self.token_without_tls, broker_hosts=self.broker_host or (),
        )  # fmt: skip

    def flags(self) -> dict[str, object]:
        """What was given, by flag, for a command that follows."""
        return {
            OPTIONS[one.name].flag: value for one in fields(self) if (value := getattr(self, one.name)) != one.default
        }

    def live(self, service_url: str, admin_url: str) -> Live:
        """The cluster as ledgers are read from it."""
        return Live(
            service_url, admin_url, None, DEFAULT_RATE, _text(self.token_file), _text(self.ca_file),
            _text(self.cert_file), _text(self.key_file), self.timeout_seconds, self.token_without_tls,
            tuple(self.broker_host or ()),
        )  # fmt: skip


def _text(path: Path | None) -> str | None:
    return str(path) if path else None


def connected(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take these options; it gets them as its argument `connection`."""
    kinds = get_type_hints(Connection, include_extras=True)
    options = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=kinds[one.name])
        for one in fields(Connection)
    ]
    return with_options(
        command, "connection", options, lambda values: Connection(**{one.name: values[one.name] for one in options})
    )
