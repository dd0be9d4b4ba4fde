"""Credentials are found where each cloud's own tools look, and no token or SAS leaves without TLS."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.buckets.azure import Azure
from pulsar_backlog.ledgers.buckets.cloud import Question
from pulsar_backlog.ledgers.buckets.gcs import Gcs
from pulsar_backlog.ledgers.buckets.patience import StoreError

FIRST = Question("")
HOST = "account.dfs.core.windows.net"


class _Tokens(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = {"access_token": "qzx-token", "expires_in": "3600", "token_type": "Bearer", "resource": "r"}
        body["expires_on"] = str(int(time.time()) + 3600)
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST  # noqa: N815 - http.server calls it so

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def tokens() -> Iterator[str]:
    """Address of a server that gives tokens."""
    server = HTTPServer(("127.0.0.1", 0), _Tokens)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/token"
    server.shutdown()
    server.server_close()
    thread.join(10)


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """No credentials of any cloud, and no place where some may lie."""
    for name in os.environ:
        if name.startswith(("AZURE_", "GOOGLE_", "STORAGE_EMULATOR", "IDENTITY_", "CLOUDSDK_", "MSI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    return monkeypatch


@pytest.fixture
def service_account(clean: pytest.MonkeyPatch, tokens: str, tmp_path: Path) -> None:
    key = rsa.generate_private_key(65537, 2048)
    account = {
        "type": "service_account",
        "client_email": "me@project.example",
        "private_key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        "private_key_id": "1",
        "token_uri": tokens,
    }
    (tmp_path / "account.json").write_text(json.dumps(account))
    clean.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))


@pytest.mark.usefixtures("service_account")
def test_google_by_a_service_account() -> None:
    cloud = Gcs("bucket", None)
    address, headers = cloud.request(FIRST)
    assert address.startswith("https://")
    assert headers == {"Authorization": "Bearer qzx-token"}
    assert cloud.object_request("GET", "key").headers["Authorization"] == "Bearer qzx-token"
    assert Gcs("bucket", "http://127.0.0.1:1").request(FIRST)[1] == {}  # an emulator gets none


def test_google_without_credentials() -> None:
    for ask in (lambda: Gcs("bucket", None).request(FIRST), lambda: Gcs("bucket", None).object_request("GET", "key")):
        with pytest.raises(StoreError, match="no Google credentials") as caught:
            ask()
        assert caught.value.kind == "denied"


def test_an_emulator_that_the_environment_names(clean: pytest.MonkeyPatch) -> None:
    clean.setenv("STORAGE_EMULATOR_HOST", "127.0.0.1:9")
    assert Gcs("bucket", None).request(FIRST)[0].startswith("http://127.0.0.1:9/storage/v1/b/bucket/o?")


def test_azure_by_a_managed_identity(clean: pytest.MonkeyPatch, tokens: str) -> None:
    clean.setenv("IDENTITY_ENDPOINT", tokens)
    clean.setenv("IDENTITY_HEADER", "any")
    cloud = Azure("box", HOST, None)
    address, headers = cloud.request(FIRST)
    assert address.startswith("https://account.blob.core.windows.net/box?")
    assert headers["Authorization"] == "Bearer qzx-token"
    assert cloud.object_request("GET", "key").headers["Authorization"] == "Bearer qzx-token"
    with pytest.raises(StoreError, match="without TLS"):
        Azure("box", HOST, "http://127.0.0.1:1/account").request(FIRST)


def test_azure_by_a_sas(clean: pytest.MonkeyPatch) -> None:
    clean.setenv("AZURE_STORAGE_SAS_TOKEN", "?sv=2022-11-02&sig=a%2Bb%3D")
    address, headers = Azure("box", HOST, None).request(FIRST)
    assert "sig=a%2Bb%3D" in address
    assert "Authorization" not in headers
    with pytest.raises(StoreError, match="without TLS") as caught:
        Azure("box", HOST, "http://127.0.0.1:1/account").request(FIRST)
    assert "a%2Bb" not in str(caught.value)


def test_azure_by_a_connection_string(clean: pytest.MonkeyPatch) -> None:
    parts = "DefaultEndpointsProtocol=https;AccountName=account;AccountKey=a2V5;EndpointSuffix=core.chinacloudapi.cn"
    clean.setenv("AZURE_STORAGE_CONNECTION_STRING", parts)
    address, headers = Azure("box", None, None).request(FIRST)
    assert address.startswith("https://account.blob.core.chinacloudapi.cn/box?")
    assert headers["Authorization"].startswith("SharedKey account:")


def test_a_key_of_another_account_is_not_tried(clean: pytest.MonkeyPatch, tokens: str) -> None:
    clean.setenv("AZURE_STORAGE_ACCOUNT", "another")
    clean.setenv("AZURE_STORAGE_KEY", "a2V5")
    clean.setenv("IDENTITY_ENDPOINT", tokens)
    clean.setenv("IDENTITY_HEADER", "any")
    assert Azure("box", HOST, None).request(FIRST)[1]["Authorization"] == "Bearer qzx-token"
    assert Azure("box", None, None).request(FIRST)[1]["Authorization"].startswith("SharedKey another:")


def test_an_account_that_nothing_names() -> None:
    with pytest.raises(UsageError, match="set AZURE_STORAGE_ACCOUNT"):
        Azure("box", None, None).request(FIRST)


def test_a_key_that_is_none(clean: pytest.MonkeyPatch) -> None:
    clean.setenv("AZURE_STORAGE_KEY", "@@@@")
    with pytest.raises(UsageError, match="not base64") as caught:
        Azure("box", HOST, None).request(FIRST)
    assert "@@@@" not in str(caught.value)
