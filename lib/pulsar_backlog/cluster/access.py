"""How a live cluster is reached: secrets come from files and environment only, and never appear in text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from pulsar_backlog.errors import UsageError
from pulsar_backlog.known_secrets import remember_secret

TOKEN_VARIABLE = "PULSAR_BACKLOG_TOKEN"  # noqa: S105 - the name of a variable
"""Environment variable that holds a token where no `--token-file` is given."""


TLS_SCHEMES = ("https", "pulsar+ssl")


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
        token_without_tls: whether the user lets the token go where everyone on the way can read it.
        broker_hosts: globs on hosts that get the token too where an admin service sends us on to one of them.
    """

    token: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    timeout_seconds: float = 30.0
    attempts: int = 4
    token_without_tls: bool = False
    broker_hosts: tuple[str, ...] = ()

    def stays_here(self, url: str) -> bool:
        """Whether a token may be sent to an address only because that is this machine."""
        return self.token is not None and not self.token_without_tls and urlsplit(url).scheme not in TLS_SCHEMES

    def against_token(self, url: str) -> str | None:
        """Why no token may be sent to an address; None when it may, or when there is none.

        Without TLS it stays on this machine (a tunnel begins here), or is sent because the user says so.
        """
        if not self.stays_here(url) or is_here(urlsplit(url).hostname):
            return None
        return (
            "without TLS everyone on the way can read the token, so it was not sent: give an address that begins "
            "with https:// or pulsar+ssl://, or add --token-without-tls"
        )

    def follows(self, url: str, target: str) -> bool:
        """Whether an admin service may send us on from one address to another."""
        here, there = urlsplit(url).hostname or "", urlsplit(target).hostname or ""
        if self.token is None or here == there or (is_here(here) and is_here(there)):
            return True
        return any(fnmatchcase(there, glob.lower()) for glob in self.broker_hosts)


def is_here(host: str | None) -> bool:
    """Whether a host is this machine: `localhost`, or an address that never leaves it."""
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


def read_access(
    token_file: Path | None,
    ca_file: Path | None,
    cert_file: Path | None,
    key_file: Path | None,
    timeout_seconds: float,
    environment: Mapping[str, str],
    *,
    token_without_tls: bool = False,
    broker_hosts: Sequence[str] = (),
) -> Access:
    """Access as options name it; from now on no text of others brings the token back.

    Raises:
        UsageError: a file cannot be read, the token is none, or a key comes without its certificate.
    """
    for flag, path in (("--ca-file", ca_file), ("--cert-file", cert_file), ("--key-file", key_file)):
        if path is not None and (text := _content(flag, path)) and "PRIVATE KEY" in text:
            remember_secret(text)
    if key_file and not cert_file:
        raise UsageError("--key-file without --cert-file: give the certificate that the key belongs to as well")
    if timeout_seconds <= 0:
        raise UsageError(f"--timeout-seconds {timeout_seconds:g}: must be more than 0")
    if token_file:
        token: str | None = _checked(_content("--token-file", token_file), f"--token-file {token_file}")
    else:
        named = environment.get(TOKEN_VARIABLE)
        token = _checked(named, TOKEN_VARIABLE) if named else None
    remember_secret(token)
    return Access(
        token, ca_file, cert_file, key_file, timeout_seconds,
        token_without_tls=token_without_tls, broker_hosts=tuple(broker_hosts),
    )  # fmt: skip


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
            f"{where} holds no token: a token is one line of letters, digits, dots, dashes and underscores"
        )
    return token
