"""Real servers of object stores on loopback, ended by their process ids, filled by clients that are not under test."""

from __future__ import annotations

import base64
import hmac
import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from urllib.parse import quote

import boto3
from botocore.config import Config

from tests.ports import free_port
from tests.processes import die_with_parent, end
from tests.stores.installed import azurite, fake_gcs_server, s3proxy

START_SECONDS = 90
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's own, the same everywhere, in its documentation: no secret."""

Objects = Mapping[str, tuple[bytes, Mapping[str, str]]]


@dataclass(frozen=True)
class Store:
    """A running server.

    Attributes:
        kind: `s3`, `gcs` or `azure`.
        scheme: of its addresses.
        endpoint: of the service.
        environment: credentials, as users of that cloud set them.
        wrong: the same with a credential that is none.
    """

    kind: str
    scheme: str
    endpoint: str
    environment: Mapping[str, str] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)

    def source(self, bucket: str, prefix: str = "") -> str:
        """Address of a bucket."""
        return f"{self.scheme}://{bucket}" + (f"/{prefix}" if prefix else "")

    def fill(self, bucket: str, objects: Objects) -> None:
        """Make a bucket of objects with their user metadata."""
        {"s3": _fill_s3, "gcs": _fill_gcs, "azure": _fill_azure}[self.kind](self.endpoint, bucket, objects)


@contextmanager
def running_s3(folder: Path, provider: str = "transient-nio2") -> Iterator[Store]:
    """s3proxy, which checks the signature of each request.

    Args:
        folder: for its configuration, its log, and what `filesystem` stores; other providers store in memory.
        provider: `transient` and `filesystem` know keys that end at a slash, as S3A makes.
    """
    port = free_port()
    conf = folder / "s3proxy.conf"
    settings = {
        "s3proxy.endpoint": f"http://127.0.0.1:{port}",
        "s3proxy.authorization": "aws-v4",
        "s3proxy.identity": "key",
        "s3proxy.credential": "secret",
        "s3proxy.ignore-unknown-headers": "true",  # of checksums, when objects are removed
        "jclouds.provider": provider,
        "jclouds.identity": "any",
        "jclouds.credential": "any",
        "jclouds.filesystem.basedir": str(folder),
    }
    conf.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    java = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    with running([*java, "-jar", str(s3proxy()), "--properties", str(conf)], port, folder / "s3proxy.log"):
        right = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
        yield Store("s3", "s3", f"http://127.0.0.1:{port}", right, right | {"AWS_SECRET_ACCESS_KEY": "wrong"})


@contextmanager
def running_gcs(folder: Path) -> Iterator[Store]:
    """fake-gcs-server, which asks for no credentials."""
    port = free_port()
    command = [
        *(str(fake_gcs_server()), "-scheme", "http", "-host", "127.0.0.1", "-port", str(port)),
        *("-backend", "memory", "-public-host", f"127.0.0.1:{port}", "-log-level", "warn"),
    ]
    with running(command, port, folder / "fake-gcs-server.log"):
        yield Store("gcs", "gs", f"http://127.0.0.1:{port}")


@contextmanager
def running_azure(folder: Path) -> Iterator[Store]:
    """Azurite, which checks the signature of each request."""
    port = free_port()
    command = [
        *("node", str(azurite()), "--blobHost", "127.0.0.1", "--blobPort", str(port)),
        *("--inMemoryPersistence", "--disableTelemetry", "--silent"),
    ]
    with running(command, port, folder / "azurite.log"):
        right = {"AZURE_STORAGE_ACCOUNT": ACCOUNT, "AZURE_STORAGE_KEY": ACCOUNT_KEY}
        wrong = right | {"AZURE_STORAGE_KEY": "d3Jvbmc="}
        yield Store("azure", "az", f"http://127.0.0.1:{port}/{ACCOUNT}", right, wrong)


RUNNING: Mapping[str, Callable[[Path], AbstractContextManager[Store]]] = {
    "s3": running_s3,
    "gcs": running_gcs,
    "azure": running_azure,
}


@contextmanager
def running(
    command: list[str], port: int, log: Path, environment: Mapping[str, str] | None = None, host: str = "127.0.0.1"
) -> Iterator[subprocess.Popen[bytes]]:
    """A server that listens on a port of loopback, ended with the block.

    Args:
        command: starts it, as one process.
        port: where it listens.
        log: where its words go; it works beside it.
        environment: all that it has of one, besides its path and home.
        host: its own address of loopback.
    """
    basis = {"PATH": os.environ["PATH"], "HOME": str(log.parent), "LANG": "C.UTF-8"}
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, cwd=log.parent, start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - a single call of the kernel
            env=basis | dict(environment or {}),
        )  # fmt: skip
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _listens(host, port):
            if process.poll() is not None or time.monotonic() > deadline:
                tail = log.read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{Path(command[0]).name} did not start; the end of its log:\n{tail}")
            time.sleep(0.1)
        yield process
    finally:
        end(process)


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def _fill_s3(endpoint: str, bucket: str, objects: Objects) -> None:
    client = boto3.client(
        "s3", endpoint_url=endpoint, aws_access_key_id="key", aws_secret_access_key="secret", region_name="us-east-1",
        config=Config(request_checksum_calculation="when_required", s3={"addressing_style": "path"}),
    )  # fmt: skip
    client.create_bucket(Bucket=bucket)
    for key, (body, metadata) in objects.items():
        client.put_object(Bucket=bucket, Key=key, Body=body, Metadata=dict(metadata))


def _fill_gcs(endpoint: str, bucket: str, objects: Objects) -> None:
    _post(f"{endpoint}/storage/v1/b?project=tests", "application/json", json.dumps({"name": bucket}).encode())
    for key, (body, metadata) in objects.items():
        head = json.dumps({"name": key, "metadata": dict(metadata)}).encode()
        parts = (
            b"--cut\r\nContent-Type: application/json\r\n\r\n" + head,
            b"--cut\r\nContent-Type: application/octet-stream\r\n\r\n" + body,
            b"--cut--",
        )
        address = f"{endpoint}/upload/storage/v1/b/{quote(bucket)}/o?uploadType=multipart"
        _post(address, "multipart/related; boundary=cut", b"\r\n".join(parts))


def _post(address: str, content_type: str, body: bytes) -> None:
    request = urllib.request.Request(address, data=body, headers={"Content-Type": content_type})
    with urllib.request.urlopen(request, timeout=30) as answer:
        answer.read()


def _fill_azure(endpoint: str, bucket: str, objects: Objects) -> None:
    _put_azure(f"{endpoint}/{bucket}?restype=container", b"", {})
    for key, (body, metadata) in objects.items():
        marks = {"x-ms-blob-type": "BlockBlob"} | {f"x-ms-meta-{name}": value for name, value in metadata.items()}
        _put_azure(f"{endpoint}/{bucket}/{quote(key)}", body, marks)


def _put_azure(address: str, body: bytes, headers: Mapping[str, str]) -> None:
    """A PUT with the shared key of the account, signed as Azure's documentation tells."""
    path, _, query = address.partition("://")[2].partition("/")[2].partition("?")
    marks = {name.lower(): value for name, value in headers.items()}
    marks |= {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
    resource = f"/{ACCOUNT}/{path}" + ("\n" + query.replace("=", ":") if query else "")
    lines = ["PUT", "", "", str(len(body)) if body else "", "", "application/octet-stream", *[""] * 6]
    text = "\n".join([*lines, *(f"{name}:{marks[name]}" for name in sorted(marks)), resource])
    digest = hmac.digest(base64.b64decode(ACCOUNT_KEY), text.encode(), "sha256")
    signed = {"Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"}
    plain = {"Content-Type": "application/octet-stream", "Content-Length": str(len(body))}
    request = urllib.request.Request(address, data=body, headers=marks | plain | signed, method="PUT")
    with urllib.request.urlopen(request, timeout=30) as answer:
        answer.read()
