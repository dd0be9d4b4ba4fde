"""A query of a slow bucket ends well: threads of pyarrow that read ahead of a LIMIT do not outlive Python."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pulsar_backlog.tableio.bucket_readers import Readers, readers
from tests.frames.rows import entry
from tests.ledgers.conftest import S3Server, aws, s3_server
from tests.small_tables import write_tables

__all__ = ["aws", "s3_server"]  # fixtures that tests here ask for by name

FILES = 24
SLOW_SECONDS = 0.2


@pytest.fixture(scope="module")
def bucket(s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> S3Server:
    """A table of more files than pyarrow opens at once."""
    folder = write_tables(tmp_path_factory.mktemp("out"), runs=[])
    for at in range(FILES):
        write_tables(folder, entries=[entry("t", 1, at, index=at)])
    paths = (path for path in folder.rglob("*") if path.is_file())
    s3_server.fill("readers", {f"out/{path.relative_to(folder)}": (path.read_bytes(), {}) for path in paths})
    return s3_server


@pytest.fixture
def slow(bucket: S3Server) -> Iterator[str]:
    """A door to the server that takes its time for the files of tables."""

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if ".parquet" in self.path:
                time.sleep(SLOW_SECONDS)
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            try:
                answer = urllib.request.urlopen(urllib.request.Request(bucket.endpoint + self.path, headers=headers))
            except urllib.error.HTTPError as error:
                answer = error
            body = answer.read()
            try:
                self.send_response(answer.status)
                for name in ("Content-Range", "Content-Type", "ETag", "Last-Modified"):
                    if name in answer.headers:
                        self.send_header(name, answer.headers[name])
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # nobody waits for it any more
                pass

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("query", "code", "out"),
    [
        ("SELECT cluster FROM entries LIMIT 1", 0, "cluster\nc\n"),
        ("SELECT count(*) AS n FROM entries", 0, f"n\n{FILES}\n"),
        ("SELECT CAST(topic AS int) FROM entries", 2, ""),  # stops at the first row
    ],
)
def test_a_query_that_needs_no_more_rows_ends_well(
    slow: str, aws: pytest.MonkeyPatch, query: str, code: int, out: str
) -> None:
    command = [sys.executable, "-m", "pulsar_backlog.cli", "sql", "s3://readers/out", query, "--endpoint", slow]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    began = time.monotonic()
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout) == (code, out), ended.stderr
    assert len(ended.stderr.splitlines()) == (1 if code else 0)
    assert time.monotonic() - began < 45  # all that was read was let go: see the limit of `Readers`


def test_the_end_waits_for_what_is_held() -> None:
    class Files:
        pass

    readers, files = Readers(), Files()
    readers.add(files)
    release = threading.Timer(0.3, lambda held: held.clear(), [[files]])
    release.start()
    del files
    began = time.monotonic()
    readers.end()
    release.join()
    assert readers.ended
    assert time.monotonic() - began >= 0.2


def test_an_error_does_not_wait_for_what_it_holds_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    class Files:
        pass

    def opens(reading: Readers) -> None:
        files = Files()
        reading.add(files)
        try:
            raise KeyError
        except KeyError as error:
            raise LookupError(files.__class__.__name__) from error

    def no_wait(_: float) -> None:
        raise AssertionError("it waits for itself")

    monkeypatch.setattr(time, "sleep", no_wait)
    with pytest.raises(LookupError), readers() as reading:
        opens(reading)
    assert reading.ended
