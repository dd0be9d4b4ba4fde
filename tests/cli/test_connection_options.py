"""The options of a connection: a command gets what was typed, and what is made of it says the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from pulsar_backlog.cluster.access import TOKEN_VARIABLE
from pulsar_backlog.commands.connection import Connection, connected
from pulsar_backlog.ledgers.live.place import access_of


def asked(*typed: str) -> tuple[str, Connection]:
    """What a command with an option of its own is given."""
    seen: list[tuple[str, Connection]] = []
    app = typer.Typer()

    @app.command()
    @connected
    def command(connection: Connection, own: Annotated[str, typer.Option()] = "mine") -> None:
        seen.append((own, connection))

    assert CliRunner().invoke(app, typed).exit_code == 0
    return seen[0]


def test_nothing_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    own, connection = asked()
    access = connection.access()
    assert own == "mine"
    assert (access.token, access.ca_file, access.cert_file, access.key_file) == (None, None, None, None)
    assert (access.timeout_seconds, access.token_without_tls, access.broker_hosts) == (30.0, False, ())


def test_each_option_reaches_access_and_what_reads_ledgers(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("token", "ca", "cert", "key")}
    for name, path in files.items():
        path.write_text(name)
    typed = [part for name, path in files.items() for part in (f"--{name}-file", str(path))]
    own, connection = asked(
        *typed, "--timeout-seconds", "1.5", "--token-without-tls", "--broker-host", "a*", "--broker-host", "b",
        "--own", "x",
    )  # fmt: skip
    access = connection.access()
    assert own == "x"
    given = {"--timeout-seconds": 1.5, "--token-without-tls": True, "--broker-host": ["a*", "b"]}
    assert given.items() <= connection.flags().items()  # what `apply` prints for `verify`
    assert (access.token, access.ca_file, access.cert_file) == ("token", files["ca"], files["cert"])
    assert (access.key_file, access.timeout_seconds) == (files["key"], 1.5)
    assert (access.token_without_tls, access.broker_hosts) == (True, ("a*", "b"))
    live = connection.live("pulsar://broker:6650", "http://broker:8080")
    assert (live.service_url, live.admin_url, live.snapshot) == ("pulsar://broker:6650", "http://broker:8080", None)
    assert access_of(live) == access
