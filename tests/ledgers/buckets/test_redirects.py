"""No redirect of a store is followed: what it leads to gets no request, and so no credential, of any kind of store."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.buckets import gcs
from pulsar_backlog.ledgers.buckets.access import Access
from pulsar_backlog.ledgers.buckets.addresses import bucket_of, forget_output_buckets
from pulsar_backlog.ledgers.buckets.bucket import Bucket
from pulsar_backlog.tableio.delta_rs import open_table
from pulsar_backlog.tables import TABLES
from tests.broker.identity import Identity, make_identity

STATUSES = (301, 302, 303, 307, 308)
SECRETS = {
    "AWS_ACCESS_KEY_ID": "qzx-access", "AWS_SECRET_ACCESS_KEY": "qzx-secret", "AWS_SESSION_TOKEN": "qzx-session",
    "AWS_EC2_METADATA_DISABLED": "true", "AZURE_STORAGE_ACCOUNT": "account", "AZURE_STORAGE_KEY": "cXp4LWtleQ==",
}  # fmt: skip


class Server(ThreadingHTTPServer):
    """Answers each request with a redirect, or with nothing that a store says."""

    daemon_threads = True

    def __init__(self, identity: Identity | None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.leads_to = ""
        self.status = 307
        self.requests: list[str] = []
        if identity:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(identity.server_cert, identity.server_key)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.address = f"http{'s' if identity else ''}://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append(f"{self.command} {self.path}\n{self.headers}")
        self.send_response(self.server.status if self.server.leads_to else 404)
        if self.server.leads_to:
            self.send_header("Location", f"{self.server.leads_to}{self.path}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - http.server calls them so

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def running(identity: Identity | None) -> Iterator[Server]:
    server = Server(identity)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "STORAGE_EMULATOR")):
            monkeypatch.delenv(name)
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    forget_output_buckets()


@pytest.fixture(params=["s3", "gs", "az", "s3 with TLS", "gs with a token", "az with a SAS"])
def redirecting(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Bucket, Server, Server]]:
    """A bucket, its store, and the server that the store redirects to."""
    scheme, _, secret = request.param.partition(" with ")
    identity = make_identity(tmp_path_factory.mktemp("tls") / "identity") if secret else None
    if identity:
        monkeypatch.setenv("AWS_CA_BUNDLE", str(identity.ca))
        monkeypatch.setenv("SSL_CERT_FILE", str(identity.ca))
    if secret == "a SAS":
        monkeypatch.delenv("AZURE_STORAGE_KEY")
        monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "sv=2023-11-03&sig=qzx%2Bsas")
    monkeypatch.setattr(gcs.Gcs, "_token", lambda _: "qzx-google-token")
    with running(identity) as store, running(identity) as other:
        store.leads_to = other.address
        yield bucket_of(f"{scheme}://bucket/pre", store.address, Access(timeout_seconds=20), writes=True), store, other


def asks(bucket: Bucket, large: Path) -> list[Callable[[], object]]:
    """All that is ever asked of a bucket."""
    return [
        lambda: list(bucket.list(_raise)), lambda: bucket.read("object", 0, 100), lambda: bucket.fetch("object", 100),
        lambda: bucket.user_metadata("object"), lambda: bucket.put("object", b"bytes"),
        lambda: bucket.put("object", large), lambda: bucket.put_new("object", b"bytes"),
        lambda: bucket.remove("object"),
    ]  # fmt: skip


def test_no_redirect_is_followed(redirecting: tuple[Bucket, Server, Server], tmp_path: Path) -> None:
    bucket, store, other = redirecting
    (large := tmp_path / "large").write_bytes(bytes(9 * 1024 * 1024))
    for status in STATUSES:
        store.status = status
        for ask in asks(bucket, large):
            store.requests.clear()
            with pytest.raises(SourceError, match=f"redirects to another .* \\(HTTP {status} to 127.0.0.1:") as caught:
                ask()
            assert len(store.requests) == 1  # to ask again does not help
            assert "qzx" not in str(caught.value)
    assert other.requests == []


def test_no_redirect_within_the_store_is_followed(redirecting: tuple[Bucket, Server, Server], tmp_path: Path) -> None:
    """It may lead to another bucket."""
    bucket, store, _ = redirecting
    store.leads_to = store.address
    with pytest.raises(SourceError, match="redirects"):
        bucket.read("object", 0, 100)
    assert len(store.requests) == 1


def test_tables_in_a_bucket_follow_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(None) as store, running(None) as other:
        store.leads_to = other.address
        for status in STATUSES:
            store.status = status
            with pytest.raises(SourceError, match="redirects"):
                open_table("s3a://bucket/out", TABLES["runs"], store.address)
        assert other.requests == []


def _raise(error: SourceError) -> None:
    raise error
