"""HTTP whose answers come within their timeout as a whole: the system's timeout is for each piece, however small."""

from __future__ import annotations

import io
import socket
import time
from http.client import HTTPResponse

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection


class _Timed(io.RawIOBase):
    """Bytes of an answer, until a moment."""

    def __init__(self, stream: io.RawIOBase, connection: socket.socket, until: float) -> None:
        self._stream, self._connection, self._until = stream, connection, until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._connection.settimeout(left)
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()


class _Response(HTTPResponse):
    """An answer whose head and body come within the connection's timeout."""

    def __init__(self, sock: socket.socket, *args: object, **kwargs: object) -> None:
        super().__init__(sock, *args, **kwargs)  # type: ignore[arg-type]
        if (seconds := sock.gettimeout()) is not None:
            timed = _Timed(self.fp.detach(), sock, time.monotonic() + seconds)
            self.fp = io.BufferedReader(timed)


class _Connection(HTTPConnection):
    response_class = _Response


class _TlsConnection(HTTPSConnection):
    response_class = _Response


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


POOLS = {"http": _PlainPool, "https": _TlsPool}
"""For `urllib3.PoolManager.pool_classes_by_scheme`."""
