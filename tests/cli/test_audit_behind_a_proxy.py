"""A whole audit of a bucket behind a proxy that spoils what it passes on of one ledger: it ends, and says of which."""

from __future__ import annotations

import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.auditing import copy_ledgers, data_object, rows_of
from tests.ledgers.conftest import S3Server, aws, s3_server
from tests.processes import fresh_python

__all__ = ["aws", "s3_server"]  # fixtures that tests here ask for by name

SPOILT, SOUND = 5, 267
TIMEOUT_SECONDS = 4
PASSED_ON = ("Content-Range", "Content-Type", "ETag", "Last-Modified")


class Door(BaseHTTPRequestHandler):
    """Passes requests on; of the data of the spoilt ledger as its server's `fault` says."""

    server: Proxy

    def do_GET(self) -> None:
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        try:
            answer = urllib.request.urlopen(urllib.request.Request(self.server.behind + self.path, headers=headers))
        except urllib.error.HTTPError as error:
            answer = error
        body = answer.read()
        self.send_response(answer.status)
        for name in PASSED_ON:
            if name in answer.headers:
                self.send_header(name, answer.headers[name])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        is_spoilt = self.server.spoilt in self.path and not self.path.endswith("-index")
        with suppress(OSError):  # the audit waits no longer
            self.pass_on(body, self.server.fault if is_spoilt and self.server.strikes() else None)

    def pass_on(self, body: bytes, fault: str | None) -> None:
        match fault:
            case "hangs":
                self.server.ended.wait(60)
            case "drips":
                for at in range(len(body)):
                    self.wfile.write(body[at : at + 1])
                    if self.server.ended.wait(0.5):
                        break
            case "cuts":
                self.wfile.write(body[: len(body) // 2])
                self.connection.shutdown(socket.SHUT_RDWR)
            case _:
                self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Proxy(ThreadingHTTPServer):
    """In front of a server; spoils the data of one ledger, so many times."""

    daemon_threads = True

    def __init__(self, behind: str, spoilt: str, fault: str, times: int) -> None:
        super().__init__(("127.0.0.1", 0), Door)
        self.behind, self.spoilt, self.fault = behind, spoilt, fault
        self.ended, self._left, self._lock = threading.Event(), times, threading.Lock()

    def strikes(self) -> bool:
        """Whether this request is one to spoil."""
        with self._lock:
            self._left -= 1
            return self._left >= 0


@pytest.fixture(scope="module")
def bucket(s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> tuple[S3Server, str]:
    """A bucket of two ledgers, and the name of the object whose data is spoilt."""
    folder = copy_ledgers(tmp_path_factory.mktemp("source"), [SPOILT, SOUND])
    s3_server.fill("behind", {path.name: (path.read_bytes(), {}) for path in folder.iterdir()})
    return s3_server, data_object(folder, SPOILT).name


@pytest.fixture
def proxy(request: pytest.FixtureRequest, bucket: tuple[S3Server, str]) -> Iterator[Proxy]:
    server, name = bucket
    with Proxy(server.endpoint, name, *request.param) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield serving
        serving.ended.set()
        serving.shutdown()


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("proxy", [("hangs", 1000), ("drips", 1000), ("cuts", 1000), ("cuts", 1)], indirect=True)
def test_it_ends_and_says_what_it_could_not_read(proxy: Proxy, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    recovers = request.node.callspec.params["proxy"] == ("cuts", 1)
    limits = ("--store-attempts", "3", "--store-timeout-seconds", str(TIMEOUT_SECONDS))
    endpoint = f"http://127.0.0.1:{proxy.server_port}"
    began = time.monotonic()
    done = fresh_python(
        "-m", "pulsar_backlog.cli", "audit", "s3://behind", "--endpoint", endpoint, "--out", str(tmp_path / "out"),
        "--cluster", "c", *limits,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert done.returncode == (1 if recovers else 4), done.stderr
    assert time.monotonic() - began < 300, "bounded, however busy the machine"
    scans = {row["ledger_id"]: row for row in rows_of(tmp_path / "out", "scans")}
    assert scans[SOUND]["complete"]
    assert scans[SOUND]["decoded"] > 0
    findings = rows_of(tmp_path / "out", "findings", "code", "ledger_id", "message", "incomplete")
    told = [row for row in findings if row["code"] == "S02"]
    if recovers:
        assert (told, scans[SPOILT]["complete"]) == ([], True)
        return
    assert not scans[SPOILT]["complete"]
    (finding,) = told
    assert (finding["ledger_id"], finding["incomplete"]) == (SPOILT, True)
    assert proxy.spoilt in finding["message"]
