"""What processes of a run on one machine tell each other of live reading, in small files of a private folder.

| file | what | written by |
|---|---|---|
| `<server>.waits` | waits for a server that ended without an answer | `cluster/patience.py` |
| `pace` | the moment up to which the rate is used up | `pace.py` |
| `<process>.reading` | bytes that a process has read, and what it waits for | here |
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulsar_backlog.cluster.patience import Patience
from pulsar_backlog.foreign_text import MAX_SENTENCE, visible
from pulsar_backlog.ledgers.live.pace import Pace
from pulsar_backlog.whole_files import replacing

WAIT_SECONDS = 2.0
"""A wait that lasts so long is worth a word."""
SAY_SECONDS = 10.0
"""How often a process that shares no folder says for what it waits."""
_EVERY_SECONDS = 0.5
_SUFFIX = ".reading"


class RunFolder:
    """The folder as a process uses it; without one the process keeps to itself what it learns."""

    def __init__(self, folder: Path | None, timeout_seconds: float) -> None:
        self._folder = folder if folder is not None and folder.is_dir() else None
        self._timeout = timeout_seconds
        self._patience: dict[str, Patience] = {}
        self._lock = threading.Lock()
        self._bytes = 0
        self._written = self._said = 0.0

    def patience(self, server: str) -> Patience:
        """How long a server is still waited for."""
        with self._lock:
            if server not in self._patience:
                self._patience[server] = Patience(server, self._timeout, self._folder)
            return self._patience[server]

    def pace(self, rate: int) -> Pace:
        """The limit on bytes a second."""
        return Pace(rate, path=self._folder / "pace" if self._folder else None)

    def read(self, size: int) -> None:
        """So many bytes more were read."""
        self._bytes += size
        if time.monotonic() - self._written >= _EVERY_SECONDS:
            self._write(None, 0.0)

    def waits(self, since: float, words: str) -> None:
        """The process waits for something since a moment (monotonic); without a folder it says so itself."""
        self._write(words, since)
        now = time.monotonic()
        if self._folder is None and now - max(since, self._said) >= SAY_SECONDS:
            self._said = now
            sys.stderr.write(f"{visible(_words(now - since, words), MAX_SENTENCE)}\n")

    def rests(self) -> None:
        """The process waits for nothing any more."""
        self._write(None, 0.0)

    def _write(self, words: str | None, since: float) -> None:
        if self._folder is None:
            return
        self._written = time.monotonic()
        content = json.dumps({"bytes": self._bytes, "words": words, "since": since})
        # It is for people to look at, and the run may be over.
        with suppress(OSError), replacing(self._folder / f"{os.getpid()}{_SUFFIX}") as part:
            part.write_text(content)


@dataclass(frozen=True)
class Reading:
    """How far the processes of a run are.

    Attributes:
        read_bytes: what they have read from brokers.
        waits: what those wait for that do, in words, the longest wait first.
    """

    read_bytes: int
    waits: tuple[str, ...]


def reading_of(folder: Path) -> Reading:
    """How far the processes of a run are that use a folder."""
    now = time.monotonic()
    read_bytes, waits = 0, list[tuple[float, str]]()
    for record in _each(folder):
        read_bytes += int(record["bytes"])
        if record["words"] and now - record["since"] >= WAIT_SECONDS:
            waits.append((now - record["since"], record["words"]))
    return Reading(read_bytes, tuple(_words(seconds, words) for seconds, words in sorted(waits)[::-1]))


def _words(seconds: float, words: str) -> str:
    return f"waiting {seconds:,.0f} s {words}"


def _each(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        with suppress(OSError, ValueError):
            yield json.loads(path.read_bytes())
