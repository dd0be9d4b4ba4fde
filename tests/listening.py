"""Servers on loopback that a test writes: each says for itself what it does with a connection."""

from __future__ import annotations

import socket
import ssl
import threading

from tests.broker.identity import Identity


class Listening:
    """Takes connections until it is closed.

    Attributes:
        url: of the service, once it listens.
    """

    url: str

    def listen(self, identity: Identity | None = None) -> None:
        """Begin; with TLS where there is an identity."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if identity else None
        if self._tls and identity:
            self._tls.load_cert_chain(identity.server_cert, identity.server_key)
        self.url = f"pulsar{'+ssl' if identity else ''}://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def secured(self, connection: socket.socket) -> socket.socket:
        """The connection, with TLS where that is spoken."""
        return self._tls.wrap_socket(connection, server_side=True) if self._tls else connection

    def take(self, connection: socket.socket) -> None:
        """What is done with a connection; the next is taken when this returns."""
        raise NotImplementedError

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.take(connection)
