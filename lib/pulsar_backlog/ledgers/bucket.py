"""An S3 bucket as a place of ledgers.

Read through obstore; listed through boto3, because obstore's listing ends at the first key it cannot spell (`../x`),
and a shared bucket may hold any key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

import boto3
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import (  # type: ignore[import-untyped]
    BotoCoreError,
    ClientError,
    ConnectionError,  # botocore's own, not the builtin
    HTTPClientError,
    NoCredentialsError,
    ProfileNotFound,
)
from obstore.auth.boto3 import Boto3CredentialProvider
from obstore.store import S3Store

from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.ledgers.values import StoredObject

DEFAULT_REGION = "us-east-1"
CONNECT_SECONDS = 5
READ_SECONDS = 30
RETRIES = 2
"""Together these bound how long a store that does not answer holds a run: well under a minute to connect."""

_REFUSALS = frozenset(
    ("403", "401", "AccessDenied", "AllAccessDisabled", "ExpiredToken", "InvalidAccessKeyId", "InvalidToken",
     "SignatureDoesNotMatch")
)  # fmt: skip


@dataclass(frozen=True)
class Bucket:
    """A bucket, or the part of one under a prefix that ends at a slash."""

    name: str
    prefix: str
    endpoint: str | None

    @classmethod
    def of(cls, source: str, endpoint: str | None) -> Bucket:
        """The bucket that `s3://bucket[/prefix]` names."""
        name, _, prefix = source.removeprefix("s3://").partition("/")
        prefix = prefix.strip("/")
        return cls(name, f"{prefix}/" if prefix else "", endpoint)

    @cached_property
    def store(self) -> Any:
        """The obstore store over the whole bucket.

        Raises:
            SourceError: no credentials are to be found.
        """
        session = self._session
        try:
            provider = Boto3CredentialProvider(session)
        except ValueError as error:
            raise self._no_credentials() from error
        return S3Store(
            self.name,
            config={
                "region": session.region_name or DEFAULT_REGION,
                "virtual_hosted_style_request": False,
                **({"endpoint": self.endpoint} if self.endpoint else {}),
            },
            client_options={
                "allow_http": (self.endpoint or "").startswith("http://"),
                "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
                "read_timeout": timedelta(seconds=READ_SECONDS),
                "timeout": timedelta(minutes=10),  # of a whole request: 64 MiB may come slowly
            },
            retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=READ_SECONDS)},
            credential_provider=provider,
        )

    def key(self, path: str) -> str:
        """Key of a path in the bucket."""
        return self.prefix + path

    def list(self, on_error: Callable[[SourceError], None]) -> Iterator[StoredObject]:
        """Objects in the order of the bucket, as pages arrive.

        Raises:
            UsageError: there is no such bucket.
        """
        try:
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=self.prefix)
            for page in pages:
                for item in page.get("Contents", ()):
                    if not item["Key"].endswith("/"):  # folders that consoles make
                        yield StoredObject(item["Key"][len(self.prefix) :], item["Size"], item.get("ETag"))
        except (ClientError, BotoCoreError) as error:
            on_error(self._failure(error))

    @cached_property
    def _session(self) -> boto3.Session:
        try:
            return boto3.Session()
        except ProfileNotFound as error:
            raise UsageError(str(error)) from error

    @cached_property
    def _client(self) -> Any:
        return self._session.client(
            "s3",
            region_name=self._session.region_name or DEFAULT_REGION,
            endpoint_url=self.endpoint,
            config=Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=READ_SECONDS,
                retries={"total_max_attempts": 1 + RETRIES, "mode": "standard"},
                s3={"addressing_style": "path"} if self.endpoint else {},
            ),
        )

    def _failure(self, error: ClientError | BotoCoreError) -> SourceError:
        uri = f"s3://{self.name}/{self.prefix}"
        if isinstance(error, NoCredentialsError):
            return self._no_credentials()
        if isinstance(error, (ConnectionError, HTTPClientError)):
            return SourceError(uri, "unreachable", f"the store does not answer ({error})")
        if not isinstance(error, ClientError):
            return SourceError(uri, "failed", str(error))
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code == "NoSuchBucket":
            raise UsageError(f"there is no bucket {self.name!r} at {self.endpoint or 'AWS'}") from error
        if code in _REFUSALS:
            return SourceError(uri, "permission_denied", f"the store refuses access ({code})")
        return SourceError(uri, "failed", str(error))

    def _no_credentials(self) -> SourceError:
        detail = "no AWS credentials in the environment, the profile or the files"
        return SourceError(f"s3://{self.name}/{self.prefix}", "permission_denied", detail)
