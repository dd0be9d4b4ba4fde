"""An admin service that hangs, drips or is cut: an answer has its time as a whole, and a run has it once."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import pytest

from pulsar_backlog.cluster.access import Access
from pulsar_backlog.cluster.admin_http import AdminError, AdminHttp
from pulsar_backlog.cluster.patience import Patience
from tests.listening import Listening

TIMEOUT = 1.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


class Dripping(Listening):
    """Sends what it says byte by byte.

    Attributes:
        says: the whole answer; it begins with the part that comes at once.
        at_once: bytes of that part.
        byte_seconds: time between two bytes of the rest.
    """

    def __init__(self, says: bytes, at_once: int, byte_seconds: float) -> None:
        self.says, self.at_once, self.byte_seconds = says, at_once, byte_seconds
        self.connections = 0
        self._pool = ThreadPoolExecutor(16)
        self.listen()
        self.url = self.url.replace("pulsar:", "http:")

    def take(self, connection: socket.socket) -> None:
        self.connections += 1
        self._pool.submit(self._drip, connection)

    def _drip(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.recv(65536)
            connection.sendall(self.says[: self.at_once])
            for byte in self.says[self.at_once :]:
                time.sleep(self.byte_seconds)
                connection.sendall(bytes([byte]))

    def close(self) -> None:
        super().close()
        self._pool.shutdown()


BODY = b'["' + b"x" * 60 + b'"]'
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY


@pytest.fixture(params=["head", "body", "chunked", "nothing"])
def dripping(request: pytest.FixtureRequest) -> Iterator[Dripping]:
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 20
    answers = {
        "head": (WHOLE, 10, 0.2),  # each piece within any timeout, all of them in half a minute
        "body": (WHOLE, len(WHOLE) - len(BODY), 0.2),
        "chunked": (chunked, len(HEAD) + 30, 0.2),
        "nothing": (b"x", 0, 3.0),
    }
    with closing(Dripping(*answers[request.param])) as server:
        yield server


def test_an_answer_has_its_time_as_a_whole(dripping: Dripping) -> None:
    began = time.monotonic()
    with closing(AdminHttp(dripping.url, Access(timeout_seconds=TIMEOUT))) as http, pytest.raises(AdminError) as told:
        http.request("GET", "/admin/v2/tenants")
    assert time.monotonic() - began < TIMEOUT + 0.7
    assert told.value.reason == "unreachable"
    assert "no answer within" in str(told.value)
    assert dripping.connections == 1  # attempts are within the time, too


def test_a_run_waits_for_a_service_once(dripping: Dripping) -> None:
    patience = Patience(dripping.url, TIMEOUT)
    began, errors = time.monotonic(), list[str]()
    with closing(AdminHttp(dripping.url, Access(timeout_seconds=TIMEOUT), patience=patience)) as http:
        for _ in range(20):
            with pytest.raises(AdminError) as told:
                http.request("GET", "/admin/v2/tenants")
            errors.append(str(told.value))
    assert time.monotonic() - began < 2 * TIMEOUT + 4 * 0.5 + 0.7
    assert "not asked any more in this run" in errors[-1]


def test_a_slow_answer_within_its_time() -> None:
    with (
        closing(Dripping(WHOLE, len(WHOLE) - 3, 0.1)) as server,
        closing(AdminHttp(server.url, Access(timeout_seconds=5))) as http,
    ):
        assert http.request("GET", "/") == BODY
