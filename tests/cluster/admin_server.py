"""An admin service on loopback that answers what a test says, and notes what it was asked."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass(frozen=True)
class Answer:
    """One answer; `length` may lie, as a connection that breaks off does."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None


Handler = Callable[[str], Answer]


@dataclass
class AdminServer:
    """A running server.

    Attributes:
        url: address.
        answers: by path without query; a function is asked anew each time.
        asked: (path, Authorization) of each request, in order.
    """

    url: str = ""
    answers: dict[str, Answer | Handler] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)

    def times(self, path: str) -> int:
        return sum(path == asked for asked, _ in self.asked)

    def says(self, path: str, body: object) -> None:
        self.answers[path] = Answer(body=json.dumps(body).encode())

    def holds(self, *topics: str) -> None:
        """Make it a cluster with these topics in `lab/s`, each with one ledger of its own."""
        self.says("/admin/v2/brokers/version", "4.0.8")
        self.says("/admin/v2/clusters", ["c"])
        self.says("/admin/v2/brokers/configuration/runtime", {"maxMessageSize": "5242880", "tokenSecretKey": "hidden"})
        self.says("/admin/v2/tenants", ["lab"])
        self.says("/admin/v2/namespaces/lab", ["lab/s"])
        self.says("/admin/v2/namespaces/lab/s", {"message_ttl_in_seconds": 5})
        self.says("/admin/v2/persistent/lab/s", [f"persistent://lab/s/{topic}" for topic in topics])
        self.says("/admin/v2/persistent/lab/s/partitioned", [])
        for number, topic in enumerate(topics):
            path = f"/admin/v2/persistent/lab/s/{topic}"
            ledger = {"ledgerId": number, "entries": 3, "size": 9, "offloaded": False}
            state = {"ledgers": [ledger], "cursors": {}, "lastConfirmedEntry": f"{number}:2", "state": "LedgerOpened"}
            self.says(f"{path}/internalStats", state)
            self.says(f"{path}/internal-info", {"version": 1, "ledgers": [ledger], "cursors": {}})
            self.says(f"{path}/stats", {"publishers": [], "subscriptions": {}})
            for policy in ("retention", "messageTTL", "deduplicationEnabled", "offloadPolicies"):
                self.answers[f"{path}/{policy}"] = Answer()


@contextmanager
def admin_server(certificate: tuple[Path, Path] | None = None, client_ca: Path | None = None) -> Iterator[AdminServer]:
    """A server, with TLS when it has a certificate and key, with mutual TLS when it wants certificates of clients."""
    state = AdminServer()

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body are two packets, and the second would wait 40 ms

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            state.asked.append((path, self.headers.get("Authorization")))
            found = state.answers.get(path, Answer(404, b'{"reason":"no such thing"}'))
            answer = found(self.path) if callable(found) else found
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body) if answer.length is None else answer.length))
            self.end_headers()
            try:
                self.wfile.write(answer.body)
            except OSError:  # whoever asked did not wait
                self.close_connection = True
            if answer.length is not None:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # broken handshakes are what tests are about
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        if client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(client_ca)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    state.url = f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
