"""A real S3 server on loopback (moto), started once for the tests that need one."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from pulsar_backlog.ledgers import store


@dataclass(frozen=True)
class S3Server:
    endpoint: str

    def client(self) -> Any:
        """A client that is not the code under test."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id="key",
            aws_secret_access_key="secret",
            region_name="us-east-1",
        )

    def fill(self, bucket: str, objects: dict[str, tuple[bytes, dict[str, str]]]) -> None:
        """Make a bucket of objects, each with its user metadata."""
        client = self.client()
        client.create_bucket(Bucket=bucket)
        for key, (body, metadata) in objects.items():
            client.put_object(Bucket=bucket, Key=key, Body=body, Metadata=metadata)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    with running_s3_server() as server:
        yield server


@contextmanager
def running_s3_server() -> Iterator[S3Server]:
    """The server, in a process of its own."""
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("s3_server.py"))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stderr is not None
            for line in server.stderr:
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    break
            else:
                pytest.fail("the S3 server did not start")
            drain = subprocess.Popen(["cat"], stdin=server.stderr, stdout=subprocess.DEVNULL)
            yield S3Server(found[0])
        finally:
            server.terminate()
            server.wait(20)
    drain.wait(20)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> pytest.MonkeyPatch:
    """Credentials in the environment, and no other way to any."""
    store._opened.cache_clear()  # with the credentials of another test
    empty = tmp_path_factory.mktemp("aws")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(empty / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(empty / "config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return monkeypatch
