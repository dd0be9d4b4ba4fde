"""A proxy before the S3 server that holds back answers, so that a test knows where a job is when it kills it.

The request reaches the server before its answer is held: what was written is there, and its writer does not know.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from tests.spark_cluster.running import LIMIT_SECONDS

_HELD_SECONDS = LIMIT_SECONDS
_BY_HOP = ("connection", "transfer-encoding", "content-length", "date", "server")


class Gate:
    """Passes requests on.

    Attributes:
        endpoint: its address.
        stored: paths of the objects whose answers were held, in turn.
    """

    def __init__(self, store: str) -> None:
        self.store = urlsplit(store)
        self.stored: list[str] = []
        self._text, self._left = "", 0
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"gate": self}))
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def hold(self, text: str, times: int = 1) -> None:
        """Hold the answers to the next so many objects whose path has this text; what was held before is over."""
        with self._changed:
            self._text, self._left, self.stored = text, times, []

    def wait_for(self, number: int, seconds: float = LIMIT_SECONDS) -> None:
        """Wait until so many answers are held."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.stored) >= number, seconds), f"no object with {self._text!r}"

    def passes(self, path: str) -> bool:
        """Whether the answer to an object that is stored now goes on; note it where not."""
        with self._changed:
            if not self._left or self._text not in path:
                return True
            self._left -= 1
            self.stored.append(path)
            self._changed.notify_all()
            return False

    def stand(self) -> None:
        """Hold an answer for as long as any client waits."""
        self._closing.wait(_HELD_SECONDS)

    def close(self) -> None:
        """Take no request any more."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@contextmanager
def gate_before(store: str) -> Iterator[Gate]:
    """A gate before the store at this address."""
    gate = Gate(store)
    try:
        yield gate
    finally:
        gate.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    gate: ClassVar[Gate]

    def do_GET(self) -> None:
        with suppress(OSError):  # the client went away
            self._pass_on()

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815 - http.server calls them so

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        upstream = http.client.HTTPConnection(self.gate.store.hostname or "", self.gate.store.port)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                upstream.putheader(name, value)
            upstream.endheaders(body or None)
            answer = upstream.getresponse()
            data = answer.read()
        finally:
            upstream.close()
        if self.command == "PUT" and answer.status < 300 and not self.gate.passes(unquote(self.path)):
            self.gate.stand()
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _BY_HOP:
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing: pytest shows what matters."""
