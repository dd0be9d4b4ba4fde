"""Options of every command that speaks to a live cluster. Secrets come from files and environment, never from here."""

from pathlib import Path
from typing import Annotated

import typer

from pulsar_backlog.cluster.access import TOKEN_VARIABLE

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
TokenFileOption = Annotated[
    Path | None, typer.Option("--token-file", help=f"file that holds the token; default: the variable {TOKEN_VARIABLE}")
]
CaFileOption = Annotated[
    Path | None,
    typer.Option("--ca-file", help="certificates (PEM) of the authorities that may sign the server's certificate"),
]
CertFileOption = Annotated[Path | None, typer.Option("--cert-file", help="our certificate (PEM), for mutual TLS")]
KeyFileOption = Annotated[Path | None, typer.Option("--key-file", help="key (PEM) of --cert-file")]
TokenWithoutTlsOption = Annotated[
    bool,
    typer.Option(
        "--token-without-tls",
        help="send the token also without TLS (http://, pulsar://), where others on the way can read it",
    ),
]
BrokerHostOption = Annotated[
    list[str] | None,
    typer.Option("--broker-host", help="host (glob) that gets the token too when --admin-url redirects to it; repeat"),
]
TimeoutOption = Annotated[float, typer.Option("--timeout-seconds", help="how long one answer may take")]
