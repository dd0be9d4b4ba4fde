"""Listings that lie end soon, as one sentence: of sizes that are none, encodings, depths, names, and no end."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers import store
from pulsar_backlog.ledgers.buckets import patience, sweep, unfinished, web
from pulsar_backlog.ledgers.buckets.access import Access
from pulsar_backlog.ledgers.store import open_source
from tests.auditing import run_audit

NEEDS_SPARK = True

KINDS = ("s3", "gs", "az")
NO_SIZES = (
    "-5",
    "1_0",
    "١٢",
    "true",
    "1" + "0" * 30,
    "1e300",
    "Infinity",
    "9223372036854775808",
    "0x10",
    "+5",
    "",
    "5.0",
)
Page = Callable[[int], bytes]
"""What is answered to the n-th request."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    page: Page
    pause_seconds = 0.0
    head_pause_seconds = 0.0
    requests = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        self.server.requests += 1
        body = self.server.page(self.server.requests)
        self.send_response(200)
        try:
            for number in range(90 if self.server.head_pause_seconds else 0):  # http.client takes a hundred headers
                self.send_header(f"X-{number}", "5")
                self.flush_headers()
                time.sleep(self.server.head_pause_seconds)
        except OSError:
            self.close_connection = True
            return
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            for piece in [body] if not self.server.pause_seconds else (body[at : at + 1] for at in range(len(body))):
                self.wfile.write(piece)
                time.sleep(self.server.pause_seconds)
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join(10)


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store._opened.cache_clear()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"), "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AZURE_STORAGE_ACCOUNT": "account", "AZURE_STORAGE_KEY": "a2V5",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(patience, "FIRST_WAIT_SECONDS", 0.001)


def page_of(kind: str, size: str, token: str = "", name: str = "object", head: str = "") -> bytes:
    """A listing of one object, or of none without a name, with its size as it stands there."""
    if kind == "gs":
        item = f'"items": [{{"name": "{name}", "size": {size}, "generation": "1"}}]' if name else '"items": []'
        return f'{{{item}, "nextPageToken": {json.dumps(token)}}}'.encode()
    if kind == "s3":
        more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>" if token else ""
        item = f"<Contents><Key>{name}</Key><Size>{size}</Size></Contents>" if name else ""
        return f"{head}<ListBucketResult>{item}{more}</ListBucketResult>".encode()
    item = f"<Blob><Name>{name}</Name><Properties><Content-Length>{size}</Content-Length></Properties></Blob>"
    blobs = f"<Blobs>{item if name else ''}</Blobs>"
    return f"{head}<EnumerationResults>{blobs}<NextMarker>{token}</NextMarker></EnumerationResults>".encode()


def listing_fault(kind: str, server: Server, page: Page | bytes, **access: int) -> str:
    """What a listing of such pages ends with."""
    server.page = page if callable(page) else lambda _: page
    source = open_source(f"{kind}://bucket", f"http://127.0.0.1:{server.server_port}", Access(**access))
    with pytest.raises(SourceError) as caught:
        list(source.list())
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    str(caught.value).encode()
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_that_are_none(kind: str, server: Server) -> None:
    for size in NO_SIZES:
        written = [json.dumps(size)] if kind == "gs" else [size]
        if kind == "gs" and size in ("-5", "true", "1" + "0" * 30, "1e300", "Infinity", "5.0"):
            written.append(size)  # not a text, but what JSON has besides
        for one in written:
            store._opened.cache_clear()
            assert "the listing names an object without name or size" in listing_fault(kind, server, page_of(kind, one))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", ["0", "9223372036854775807"])
def test_sizes_at_the_bounds(kind: str, server: Server, size: str) -> None:
    server.page = lambda _: page_of(kind, size)
    source = open_source(f"{kind}://bucket", f"http://127.0.0.1:{server.server_port}")
    assert [found.size for found in source.list()] == [int(size)]


@pytest.mark.parametrize("kind", ["s3", "az"])
@pytest.mark.parametrize("encoding", ["klingon", "utf-32", "shift_jis", "utf-7", "hex", "idna"])
def test_encodings(kind: str, server: Server, encoding: str) -> None:
    body = page_of(kind, "5", head=f'<?xml version="1.0" encoding="{encoding}"?>')
    assert "the listing is" in listing_fault(kind, server, body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"prefixes": 5}', b'{"prefixes": [5]}', b'{"prefixes": [{"a": 1}]}', b'{"items": 5}', b'{"items": [5]}',
        b'{"items": "abc"}', b'{"items": {"name": "a"}}', b'{"nextPageToken": 5}', b'{"nextPageToken": {"a": 1}}',
        b"[" * 200_000, b'{"a":' * 200_000, b'{"items": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", b"5", b"null",
        b'{"items": [{"name": "a\\ud800", "size": "1", "generation": "1"}]}', b'{"prefixes": ["a\\udfff/"]}',
        b'{"items": [{"name": null, "size": "1", "generation": "1"}]}', b'{"nextPageToken": "\\ud800"}',
        b'{"items": [{"name": "a", "size": "1", "generation": {"b": []}}]}', b'{"items": [' + b"9" * 10_000 + b"]}",
        b"\xff\xfe\xfd", b"",
    ],
)  # fmt: skip
def test_json_that_is_no_listing(server: Server, body: bytes) -> None:
    assert (
        "the listing is" in (said := listing_fault("gs", server, body))
        or "the listing names" in said
        or ("the answer is not a listing" in said)
    )


@pytest.mark.parametrize("kind", ["s3", "az"])
def test_deep_xml(kind: str, server: Server) -> None:
    root = {"s3": "ListBucketResult", "az": "EnumerationResults"}[kind]
    listing_fault(kind, server, f"<{root}>".encode() + b"<a>" * 200_000)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["object", ""], ids=["the same object", "nothing"])
def test_tokens_without_end(kind: str, server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "EMPTY_PAGES", 50)
    numbers = itertools.count()
    said = listing_fault(
        kind, server, lambda _: page_of(kind, '"5"' if kind == "gs" else "5", f"t{next(numbers)}", name)
    )
    assert "the listing does not go on" in said
    assert server.requests < 60


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_that_trickles(kind: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends within the time that a request has, its tries included, and not that many times later."""
    monkeypatch.setattr(web, "SILENCE_SECONDS", 0.5)
    server.pause_seconds = 0.1
    began = time.monotonic()
    assert "does not answer in time" in listing_fault(kind, server, b" " * 10_000, timeout_seconds=2)
    assert time.monotonic() - began < 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_that_trickles(kind: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "SILENCE_SECONDS", 0.5)
    server.head_pause_seconds = 0.1
    began = time.monotonic()
    assert "does not answer in time" in listing_fault(kind, server, b" ", timeout_seconds=2)
    assert time.monotonic() - began < 4


def test_a_body_may_take_longer_than_its_head(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of a head is none of its body: a long stretch of an object takes its time."""
    monkeypatch.setattr(web, "SILENCE_SECONDS", 0.3)
    monkeypatch.setattr(web, "CRAWL_BYTES", 1)
    server.pause_seconds = 0.005
    server.page = lambda _: page_of("s3", "5")
    source = open_source("s3://bucket", f"http://127.0.0.1:{server.server_port}", Access(timeout_seconds=10))
    began = time.monotonic()
    assert [one.path for one in source.list()] == ["object"]
    assert time.monotonic() - began > web.SILENCE_SECONDS


def uploads_page(number: int, key: str = "object") -> bytes:
    """A page of unfinished uploads, of a listing that says it goes on."""
    return (
        f"<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>{key}</NextKeyMarker>"
        f"<NextUploadIdMarker>u{number}</NextUploadIdMarker></ListMultipartUploadsResult>"
    ).encode()


def test_uploads_of_one_key_without_end(server: Server) -> None:
    server.page = uploads_page
    source = open_source("s3://bucket", f"http://127.0.0.1:{server.server_port}", Access(concurrency=1))
    with pytest.raises(SourceError, match="does not go on"):
        list(source.unfinished() or ())
    assert server.requests <= unfinished.MAX_PAGES_OF_KEY + 2


@pytest.mark.parametrize("marker", ["7", "-1", "x", "1" * 30], ids=["the same", "negative", "a word", "huge"])
def test_parts_without_end(server: Server, marker: str) -> None:
    """Their sum is not known, or that of what was listed; the upload itself is told."""
    uploads = (
        b"<ListMultipartUploadsResult><Upload><Key>object</Key><UploadId>u</UploadId></Upload>"
        b"<IsTruncated>false</IsTruncated></ListMultipartUploadsResult>"
    )
    parts = (
        f"<ListPartsResult><Part><Size>5</Size></Part><IsTruncated>true</IsTruncated>"
        f"<NextPartNumberMarker>{marker}</NextPartNumberMarker></ListPartsResult>"
    ).encode()
    server.page = lambda number: uploads if number == 1 else parts
    source = open_source("s3://bucket", f"http://127.0.0.1:{server.server_port}", Access(concurrency=1))
    (upload,) = source.unfinished() or ()
    assert upload.size == (10 if marker == "7" else None)


def test_pages_that_go_on(server: Server) -> None:
    """The control: pages that do go on are all listed."""
    source = open_source("s3://bucket", f"http://127.0.0.1:{server.server_port}", Access(concurrency=1))
    names = [f"object-{number:03}" for number in range(5)]
    server.page = lambda number: page_of("s3", "5", f"t{number}" if number < 5 else "", names[number - 1])
    assert [found.path for found in source.list()] == names


LIES = {
    "a size below 0": ("s3", page_of("s3", "-5")),
    "a size in Arabic digits": ("az", page_of("az", "١٢")),
    "a size beyond 2^63": ("s3", page_of("s3", "9223372036854775808")),
    "an endless size": ("gs", page_of("gs", "Infinity")),
    "an encoding that XML does not know": ("s3", page_of("s3", "5", head='<?xml version="1.0" encoding="klingon"?>')),
    "an encoding of several bytes": ("az", page_of("az", "5", head='<?xml version="1.0" encoding="utf-32"?>')),
    "prefixes that are a number": ("gs", b'{"prefixes": 5}'),
    "deep JSON": ("gs", b"[" * 200_000),
    "deep XML": ("s3", b"<ListBucketResult>" + b"<a>" * 200_000),
    "a lone surrogate": ("gs", b'{"items": [{"name": "a\\ud800", "size": "1", "generation": "1"}]}'),
    "the same page for ever": ("s3", page_of("s3", "5", "token")),
    "no bytes": ("gs", b""),
}


@pytest.mark.parametrize(("kind", "page"), LIES.values(), ids=LIES)
def test_an_audit_of_a_listing_that_lies(
    spark: SparkSession, server: Server, tmp_path: Path, kind: str, page: bytes
) -> None:
    server.page = lambda _: page
    done = run_audit(
        f"{kind}://bucket", tmp_path / "out", endpoint=f"http://127.0.0.1:{server.server_port}", cluster="demo"
    )
    assert done.exit_code in (2, 4), done.stderr
    sentences = [line for line in done.stderr.splitlines() if not line.startswith("[")]
    assert sentences
    assert "the listing" in sentences[0] or "not a listing" in sentences[0]
    assert "Traceback" not in done.stderr + done.stdout
    assert all(len(line) < 1000 for line in sentences)
    assert done.exit_code == 4 or not (tmp_path / "out" / "tables").exists()  # told before anything is made
