"""Where private keys come from: a file, a folder, or a command. Only the place travels; each process reads the keys.

They never stand in arguments, logs, tables or findings.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock

from pulsar_backlog.errors import UsageError
from pulsar_backlog.known_secrets import remember_secret
from pulsar_backlog.wire.encryption import KeyRing, read_private_keys

MAX_KEY_BYTES = 1 << 20
COMMAND_SECONDS = 60


@dataclass(frozen=True)
class KeySource:
    """Where the keys are; both None means that there are none.

    Attributes:
        place: PEM file, or folder of PEM files; a file `NAME.pem` is tried first for the key name NAME.
        command: command that writes PEM blocks, or a JSON object of key names and PEM text, to standard output. It is
            run without a shell, once in each process that needs keys.
    """

    place: str | None = None
    command: str | None = None

    def ring(self) -> KeyRing:
        """The keys, read once for each process.

        Raises:
            UsageError: no private key is there, or one cannot be read; the message holds no key.
        """
        with _TURN:
            return _ring(self)


_TURN = Lock()
"""Several threads open messages, and a command is run once."""


@lru_cache(maxsize=4)
def _ring(source: KeySource) -> KeyRing:
    if source.place is None and source.command is None:
        return KeyRing({})
    keys = {}
    for name, pem in _pems(source):
        try:
            keys[name] = read_private_keys(pem)
        except ValueError as error:
            raise UsageError(f"--private-keys: {name}: {error}") from None
        if keys[name]:
            remember_secret(pem.decode(errors="replace"))
    if not any(keys.values()):
        raise UsageError("--private-keys or --private-keys-command gives no private key in PEM")
    return KeyRing(keys)


def _pems(source: KeySource) -> Iterator[tuple[str, bytes]]:
    """Names, and bytes that may hold PEM blocks."""
    if source.place is not None:
        yield from _pems_of_place(Path(source.place))
    if source.command is not None:
        yield from _pems_of_command(source.command)


def _pems_of_place(place: Path) -> Iterator[tuple[str, bytes]]:
    try:
        files = sorted(path for path in place.iterdir() if path.is_file()) if place.is_dir() else [place]
        for path in files:
            if path.stat().st_size <= MAX_KEY_BYTES:
                yield path.stem, path.read_bytes()
    except OSError as error:
        raise UsageError(f"--private-keys {place}: {error.strerror}") from None


def _pems_of_command(command: str) -> Iterator[tuple[str, bytes]]:
    try:
        done = subprocess.run(  # noqa: S603 - the user's own command, split into words, without a shell
            shlex.split(command), capture_output=True, timeout=COMMAND_SECONDS, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"--private-keys-command could not be run ({type(error).__name__})") from None
    if done.returncode:
        raise UsageError(f"--private-keys-command ended with exit code {done.returncode}")
    if not done.stdout.lstrip().startswith(b"{"):
        yield "key-command", done.stdout
        return
    try:
        named = json.loads(done.stdout)
        yield from ((str(name), str(pem).encode()) for name, pem in named.items())
    except ValueError:
        raise UsageError("--private-keys-command wrote something that is neither PEM nor a JSON object") from None
