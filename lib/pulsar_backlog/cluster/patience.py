"""How long a server is waited for in one run: twice the timeout, and no longer, however many questions it is asked.

| wait that ends without an answer | how long it may last |
|---|---|
| the first | the timeout |
| each further one | half of what is left of twice the timeout, at least `LEAST_SECONDS` |
| `IN_A_ROW` at that least, with no answer between them | the server is given up: nothing is asked of it any more |

A server to which no connection can be made is given up after its first wait. Waits at the same time count once. The
waits lie in a file where there is one, so that all processes of a run on one machine know of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from pathlib import Path

LEAST_SECONDS = 0.5
"""So much a server gets that let us wait before: a healthy one answers within it."""
IN_A_ROW = 3
_MAX_WORDS = 500


class Patience:
    """How long one server is still waited for.

    Args:
        server: its address.
        timeout_seconds: how long one answer may take.
        folder: of the run, for what processes share; None where this process is the only one.
    """

    def __init__(self, server: str, timeout_seconds: float, folder: Path | None = None) -> None:
        self.server = server
        self._timeout = timeout_seconds
        name = hashlib.sha256(server.encode()).hexdigest()[:24]
        self._path = folder / f"{name}.waits" if folder else None
        self._lock = threading.Lock()
        self._waits: list[tuple[float, float]] = []
        self._closed: str | None = None
        self._read_bytes = 0
        self._in_a_row = 0

    @property
    def closed(self) -> str | None:
        """Why nothing is asked of the server any more, in words; None while it is."""
        with self._lock:
            self._refresh()
            return self._closed

    def seconds(self) -> float:
        """How long the next wait may last."""
        with self._lock:
            self._refresh()
            remaining = 2 * self._timeout - _covered(self._waits)
            return min(self._timeout, max(LEAST_SECONDS, remaining / 2 if self._waits else remaining))

    def answered(self) -> None:
        """The server gave what it was waited for."""
        self._in_a_row = 0

    def gave_up(self, seconds: float, words: str, *, is_gone: bool = False) -> None:
        """A wait of so long ended now without an answer.

        Args:
            seconds: that it lasted.
            words: why it ended.
            is_gone: whether there is no connection to the server at all.
        """
        now = time.monotonic()
        with self._lock:
            self._refresh()
            at_least = bool(self._waits) and 2 * self._timeout - _covered(self._waits) <= 2 * LEAST_SECONDS
            self._in_a_row = self._in_a_row + 1 if at_least else 0
            closed = words[:_MAX_WORDS] if is_gone or self._in_a_row >= IN_A_ROW else None
            self._note(now - seconds, now, closed)

    def _note(self, began: float, ended: float, closed: str | None) -> None:
        if self._path is not None:
            line = json.dumps([began, ended, closed]).encode() + b"\n"
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, line)  # one call: lines of several processes do not mix
            finally:
                os.close(descriptor)
            self._refresh()
        else:
            self._waits.append((began, ended))
            self._closed = self._closed or closed

    def _refresh(self) -> None:
        """Take what other processes wrote since."""
        if self._path is None or not self._path.exists():
            return
        with self._path.open("rb") as stream:
            stream.seek(self._read_bytes)
            content = stream.read()
        whole = content[: content.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        for line in whole.splitlines():
            began, ended, closed = json.loads(line)
            self._waits.append((began, ended))
            self._closed = self._closed or closed


def _covered(waits: list[tuple[float, float]]) -> float:
    """Seconds within at least one of the waits."""
    total, until = 0.0, float("-inf")
    for began, ended in sorted(waits):
        total += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return total
