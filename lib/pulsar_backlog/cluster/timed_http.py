"""HTTP whose answers, or heads of answers, come within their timeout as a whole.

The system's timeout is for each piece, however small: a server that sends a byte at a time is never given up.
"""

from __future__ import annotations

import io
import socket
import time
from http.client import PARTIAL_CONTENT, HTTPResponse

import numpy as np
import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

ROOM_SHARE = 8
"""A range has so many times the memory that is free before it, for whoever puts other bytes there. It costs nothing
before that."""


class _Timed(io.RawIOBase):
    """Bytes of an answer, until a moment, or without a limit."""

    def __init__(self, stream: io.RawIOBase, connection: socket.socket, until: float) -> None:
        self._stream, self._connection = stream, connection
        self.until: float | None = until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        if self.until is not None:
            remaining = self.until - time.monotonic()
            if remaining <= 0:
                raise TimeoutError("timed out")
            self._connection.settimeout(remaining)
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()


class _Response(HTTPResponse):
    """An answer whose head and body come within the connection's timeout."""

    _timed: _Timed | None = None

    def __init__(self, sock: socket.socket, *args: object, **kwargs: object) -> None:
        super().__init__(sock, *args, **kwargs)  # type: ignore[arg-type]
        self._seconds = sock.gettimeout()
        if self._seconds is not None:
            self._socket = sock
            self._timed = _Timed(self.fp.detach(), sock, time.monotonic() + self._seconds)
            self.fp = io.BufferedReader(self._timed)


class _HeadResponse(_Response):
    """An answer whose head comes within the connection's timeout; the body is its reader's affair.

    Ranges are received into one memory: `read1` gives views of it, one behind the other. Pieces to be joined would be
    copied, and each be memory as large as it may get.
    """

    _memory: memoryview | None = None

    def begin(self) -> None:
        super().begin()
        if self._timed is not None:
            self._timed.until = None
            self._socket.settimeout(self._seconds)

    def read1(self, n: int = -1) -> bytes | memoryview:  # type: ignore[override]
        """What one look at the connection gives, up to `n` bytes; nothing at the end."""
        if self.status != PARTIAL_CONTENT or self.length is None or self.fp is None:
            return super().read1(n)
        if self._memory is None:
            self._memory = np.empty(self.length // ROOM_SHARE + self.length, dtype=np.uint8)[-self.length :].data
        start = len(self._memory) - self.length
        received = self.fp.readinto1(self._memory[start : start + n if n >= 0 else None])
        self.length -= received
        if not received or not self.length:
            self.close()
        return self._memory[start : start + received]


def _pools(response: type[HTTPResponse]) -> dict[str, type[urllib3.HTTPConnectionPool]]:
    """Pools, by scheme, whose connections read answers so."""

    class Connection(HTTPConnection):
        response_class = response

    class TlsConnection(HTTPSConnection):
        response_class = response

    class PlainPool(urllib3.HTTPConnectionPool):
        ConnectionCls = Connection

    class TlsPool(urllib3.HTTPSConnectionPool):
        ConnectionCls = TlsConnection

    return {"http": PlainPool, "https": TlsPool}


POOLS = _pools(_Response)
"""For `urllib3.PoolManager.pool_classes_by_scheme`: whole answers have a limit."""
HEAD_POOLS = _pools(_HeadResponse)
"""Likewise: heads of answers have."""
