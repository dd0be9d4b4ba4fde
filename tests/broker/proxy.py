"""A TCP proxy on loopback before a broker, that breaks connections where a test wants it.

A broker answers a lookup with its own address; the proxy puts its own in that place, or clients would go round it.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class Proxy:
    """Passes on what clients and broker say.

    Attributes:
        service_url: of the proxy.
        cuts: how often it broke all connections.
        stays_broken: whether it takes no connection after that.
        passes_bytes: that brokers say, after which it holds back the rest; None for all.
        byte_seconds: for how long it holds back each byte after that; None for ever.
    """

    def __init__(self, broker_url: str) -> None:
        self._broker = urlsplit(broker_url)
        self._listener = self._listening()
        self.service_url = f"pulsar://127.0.0.1:{self._listener.getsockname()[1]}"
        assert len(self.service_url) == len(broker_url)  # one takes the other's place in frames that tell their length
        self._names = (broker_url.encode(), self.service_url.encode())
        self.cuts = 0
        self.stays_broken = False
        self.passes_bytes: int | None = None
        self.byte_seconds: float | None = None
        self._cut_at: list[int] = []
        self._lost_answer = self._said_bytes = self._answers = 0
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._is_closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, *said_bytes: int) -> None:
        """Break all connections each time clients have said so many bytes in all."""
        self._cut_at = list(said_bytes)

    def lose_answer(self, number: int) -> None:
        """Break all connections instead of passing on an answer, counted from 1, to who waits for each."""
        self._lost_answer = number

    def close(self) -> None:
        """Take no connection any more, and break those that are open."""
        self.stays_broken = True
        self._is_closed = True
        self._break()
        self._listener.close()

    def _listening(self) -> socket.socket:
        while True:
            listener = socket.create_server(("127.0.0.1", 0))
            if len(str(listener.getsockname()[1])) == len(str(self._broker.port)):
                return listener
            listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # it stays broken: whoever comes now is refused
                return
            try:
                broker = socket.create_connection((self._broker.hostname, self._broker.port))
            except OSError:  # it is down for a while
                _end(client)
                continue
            with self._lock:
                self._open |= {client, broker}
            threading.Thread(target=self._up, args=(client, broker), daemon=True).start()
            threading.Thread(target=self._down, args=(broker, client), daemon=True).start()

    def _up(self, client: socket.socket, broker: socket.socket) -> None:
        while said := _read(client):
            self._said_bytes += len(said)
            if self._cut_at and self._said_bytes >= self._cut_at[0]:
                keep = len(said) - (self._said_bytes - self._cut_at.pop(0))
                with suppress(OSError):
                    broker.sendall(said[: max(keep, 0)])
                self._break()
                return
            with suppress(OSError):
                broker.sendall(said)
        _end(client, broker)

    def _down(self, broker: socket.socket, client: socket.socket) -> None:
        while said := _read(broker):
            self._answers += 1
            if self._answers == self._lost_answer:
                self._break()
                return
            said = said.replace(*self._names)
            passes = len(said) if self.passes_bytes is None else self.passes_bytes
            with suppress(OSError):
                client.sendall(said[:passes])
            if self.passes_bytes is not None:
                self.passes_bytes = max(0, passes - len(said))
            if passes < len(said):
                self._hold_back(said[passes:], client)
        _end(client, broker)

    def _hold_back(self, said: bytes, client: socket.socket) -> None:
        """Let the rest of a connection pass byte by byte, or not at all, until either side ends it."""
        with suppress(OSError):
            for byte in said if self.byte_seconds is not None else b"":
                client.sendall(bytes([byte]))
                time.sleep(self.byte_seconds or 0)
            while not self._is_closed:
                time.sleep(0.05)
            client.shutdown(socket.SHUT_RDWR)

    def _break(self) -> None:
        if self.stays_broken:
            with suppress(OSError):  # it was ended before
                self._listener.shutdown(socket.SHUT_RDWR)
        with self._lock:
            broken, self._open = self._open, set()
            self.cuts += 1
        _end(*broken)


@contextmanager
def proxied(broker_url: str) -> Iterator[Proxy]:
    """A proxy before a broker's service."""
    proxy = Proxy(broker_url)
    try:
        yield proxy
    finally:
        proxy.close()


def _read(source: socket.socket) -> bytes:
    try:
        return source.recv(65536)
    except OSError:
        return b""


def _end(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
