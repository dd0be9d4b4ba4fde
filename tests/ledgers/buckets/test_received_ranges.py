"""Ranges as they are received: in one memory of their size, over one connection, whatever is said of their length."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pulsar_backlog.cluster.timed_http import ROOM_SHARE
from pulsar_backlog.ledgers.buckets.patience import StoreError
from pulsar_backlog.ledgers.buckets.web import MAX_ANSWER_BYTES, Answer, Request, ask, web_pool
from pulsar_backlog.ledgers.part import Part

BODY = bytes(range(256)) * 4096


class Server(ThreadingHTTPServer):
    daemon_threads = True
    length: str | None = str(len(BODY))
    status = 206
    connections = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_GET(self) -> None:
        """The body in two halves, the second a little later."""
        self.send_response(self.server.status)
        chunked = self.server.length is None
        self.send_header(*("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(self.server.length)))
        self.end_headers()
        for half in (BODY[: len(BODY) // 2], BODY[len(BODY) // 2 :]):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(half), half) if chunked else half)
            time.sleep(0.02)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")
        elif self.server.length != str(len(BODY)):
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join(10)


def answers(server: Server, times: int = 1) -> list[Answer]:
    address = f"http://127.0.0.1:{server.server_port}"
    with web_pool(address, None, 1) as pool:
        return [ask(pool, Request("GET", f"{address}/object", {"Range": "bytes=0-"}), 10) for _ in range(times)]


def test_a_range_is_received_in_one_memory_of_its_size(server: Server) -> None:
    (answer,) = answers(server)
    assert isinstance(answer.content, memoryview)
    assert memoryview(answer.content.obj).nbytes == len(BODY)  # no piece was joined to another
    assert answer.content == BODY
    assert answer.body == BODY
    part = Part.of_content(answer.content)
    assert part.data.tobytes() == BODY
    assert part.room == len(BODY) // ROOM_SHARE


@pytest.mark.parametrize(
    ("status", "length"),
    [
        pytest.param(206, None, id="a range in chunks, of unknown size"),
        pytest.param(200, str(len(BODY)), id="no range"),
    ],
)
def test_other_answers_are_bytes(server: Server, status: int, length: str | None) -> None:
    server.status, server.length = status, length
    assert [answer.content for answer in answers(server, 2)] == [BODY, BODY]
    assert server.connections == 1
    assert Part.of_content(BODY).data.tobytes() == BODY


def test_the_connection_of_a_range_that_was_read_is_used_again(server: Server) -> None:
    assert [answer.body for answer in answers(server, 3)] == [BODY] * 3
    assert server.connections == 1


def test_a_range_that_ends_early_is_cut(server: Server) -> None:
    server.length = str(len(BODY) + 1)
    with pytest.raises(StoreError, match=f"IncompleteRead.{len(BODY)} bytes read, 1 more expected") as caught:
        answers(server)
    assert caught.value.kind == "cut"


def test_there_is_no_memory_for_an_answer_that_says_to_be_too_large(server: Server) -> None:
    server.length = str(2**60)
    with pytest.raises(StoreError, match=f"more than {MAX_ANSWER_BYTES} bytes") as caught:
        answers(server)
    assert caught.value.kind == "failed"
