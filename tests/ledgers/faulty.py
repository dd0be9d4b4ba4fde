"""An HTTP proxy on loopback before a store, that throttles, fails, cuts and slows answers as a test plans it."""

from __future__ import annotations

import http.client
import itertools
import socket
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import urlsplit

FAULTS = ("429", "500", "503", "cut", "short", "drop", "stall", "dribble")
"""What may happen to an answer: a status; a body that ends half way, against its length or with one that agrees; no
answer; a body that stands still half way; one that comes byte by byte."""

_PASSED_ON = ("content-type", "content-range", "etag", "last-modified", "x-ms-blob-type")
_PREFIXES = ("x-amz-", "x-goog-", "x-ms-")


class FaultyProxy:
    """Passes requests on to a store, and answers as planned.

    Attributes:
        endpoint: address of the proxy, with the path of the store's.
        asked: requests as they came: method and path with query.
        sent: bytes of the bodies of all answers to GET.
        faults: how often each fault was played.
    """

    def __init__(self, store: str, keeps_host: bool = True) -> None:
        self.store = urlsplit(store)
        self.keeps_host = keeps_host
        self.asked: list[str] = []
        self.sent = 0
        self.faults: Counter[str] = Counter()
        self.closing = threading.Event()
        self._plan: Iterator[str | None] = itertools.repeat(None)
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}{self.store.path}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def plan(self, faults: Iterable[str | None]) -> None:
        """What happens to the next answers, in turn; None passes one on, as all are that come after the plan."""
        self._plan = itertools.chain(faults, itertools.repeat(None))

    def every(self, number: int, fault: str) -> None:
        """Each n-th answer has this fault, for ever."""
        self._plan = itertools.cycle([*[None] * (number - 1), fault])

    def next_fault(self, method: str, path: str) -> str | None:
        """Note a request; what is to happen to its answer."""
        with self._lock:
            fault = next(self._plan)
            self.asked.append(f"{method} {path}")
            if fault:
                self.faults[fault] += 1
            return fault

    def count(self, body_bytes: int) -> None:
        """Note an answer."""
        with self._lock:
            self.sent += body_bytes

    def close(self) -> None:
        """Take no request any more."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@contextmanager
def faulty(store: str, keeps_host: bool = True) -> Iterator[FaultyProxy]:
    """A proxy before the store at this address; the host that was asked for is kept where it is signed."""
    proxy = FaultyProxy(store, keeps_host)
    try:
        yield proxy
    finally:
        proxy.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: ClassVar[FaultyProxy]
    _upstream: http.client.HTTPConnection | None = None

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def finish(self) -> None:
        super().finish()
        if self._upstream:
            self._upstream.close()

    def do_GET(self) -> None:
        fault = self.proxy.next_fault(self.command, self.path)
        with suppress(OSError):  # the client went away
            self._answer(fault)

    do_HEAD = do_GET  # noqa: N815 - http.server calls it so

    def _answer(self, fault: str | None) -> None:
        if fault == "drop":
            self.close_connection = True
            return
        if fault and fault.isdigit():
            self._send(int(fault), {"Content-Type": "application/xml"}, b"<Error><Code>SlowDown</Code></Error>")
            return
        status, headers, body = self._ask()
        self.proxy.count(len(body) if self.command == "GET" else 0)
        if fault and self.command == "GET":
            self._send_badly(fault, status, headers, body)
        else:
            self._send(status, headers, body)

    def _ask(self) -> tuple[int, dict[str, str], bytes]:
        if self._upstream is None:
            self._upstream = http.client.HTTPConnection(self.proxy.store.hostname or "", self.proxy.store.port)
        self._upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            is_own = name.lower() == "host" and not self.proxy.keeps_host
            self._upstream.putheader(name, self.proxy.store.netloc if is_own else value)
        self._upstream.endheaders()
        answer = self._upstream.getresponse()
        body = answer.read()
        headers = {k: v for k, v in answer.getheaders() if k.lower() in _PASSED_ON or k.lower().startswith(_PREFIXES)}
        length = answer.getheader("Content-Length") if self.command == "HEAD" else None
        return answer.status, headers | {"Content-Length": length or str(len(body))}, body

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_badly(self, fault: str, status: int, headers: dict[str, str], body: bytes) -> None:
        half = len(body) // 2
        self.close_connection = True
        self._send(status, headers | {"Content-Length": str(half if fault == "short" else len(body))}, body[:half])
        if fault == "stall":
            self.proxy.closing.wait(60)
        elif fault == "dribble":
            for at in range(half, len(body)):
                self.wfile.write(body[at : at + 1])
                if self.proxy.closing.wait(0.05):
                    return

    def log_message(self, *_: object) -> None:
        """Nothing: pytest shows what matters."""
