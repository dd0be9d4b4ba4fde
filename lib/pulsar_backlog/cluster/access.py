"""How a live cluster is reached: secrets come from files and environment only, and never appear in text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pulsar_backlog.errors import UsageError

TOKEN_VARIABLE = "PULSAR_BACKLOG_TOKEN"  # noqa: S105 - the name of a variable
"""Environment variable that holds a token where no `--token-file` is given."""


@dataclass(frozen=True)
class Access:
    """What proves who we are, and to whom we speak.

    Attributes:
        token: JSON web token; None to send none.
        ca_file: certificates that a server's must descend from; None for those of the system.
        cert_file: our certificate (mutual TLS), PEM.
        key_file: its key, PEM; None when `cert_file` holds both.
        timeout_seconds: how long one answer may take.
        attempts: how often a read that failed in passing is tried at all.
    """

    token: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    timeout_seconds: float = 30.0
    attempts: int = 4


def read_access(
    token_file: Path | None,
    ca_file: Path | None,
    cert_file: Path | None,
    key_file: Path | None,
    timeout_seconds: float,
    environment: Mapping[str, str],
) -> Access:
    """Access as options name it.

    Raises:
        UsageError: a file cannot be read, the token is none, or a key comes without its certificate.
    """
    for flag, path in (("--ca-file", ca_file), ("--cert-file", cert_file), ("--key-file", key_file)):
        if path is not None:
            _content(flag, path)
    if key_file and not cert_file:
        raise UsageError("--key-file without --cert-file: give the certificate that the key belongs to as well")
    if timeout_seconds <= 0:
        raise UsageError(f"--timeout-seconds {timeout_seconds:g}: must be more than 0")
    if token_file:
        token: str | None = _checked(_content("--token-file", token_file), f"--token-file {token_file}")
    else:
        named = environment.get(TOKEN_VARIABLE)
        token = _checked(named, TOKEN_VARIABLE) if named else None
    return Access(token, ca_file, cert_file, key_file, timeout_seconds)


def _content(flag: str, path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise UsageError(f"{flag} {path}: {reason}") from None


def _checked(text: str, where: str) -> str:
    """A token that an HTTP header can carry; what it is stays out of the message."""
    token = text.strip().removeprefix("token:").strip()
    if not token or not token.isascii() or any(c.isspace() or not c.isprintable() for c in token):
        raise UsageError(
            f"{where} holds no token: one line of letters, digits, dots, dashes and underscores is expected"
        )
    return token
