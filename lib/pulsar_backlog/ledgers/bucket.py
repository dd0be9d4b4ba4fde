"""An S3 bucket as a place of ledgers.

Read through obstore; listed through boto3, because obstore's listing ends at the first key it cannot spell (`../x`),
and a shared bucket may hold any key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

import boto3
import numpy as np
import obstore
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # botocore's own, not the builtin
    HTTPClientError,
    NoCredentialsError,
    ProfileNotFound,
)
from obstore.auth.boto3 import Boto3CredentialProvider
from obstore.exceptions import BaseError, GenericError
from obstore.store import S3Store

from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.known_secrets import remember_secret
from pulsar_backlog.ledgers.values import Bytes, Fetched, StoredObject

DEFAULT_REGION = "us-east-1"
CONNECT_SECONDS = 5
READ_SECONDS = 30
RETRIES = 2
"""Together these bound how long a store that does not answer holds a run: well under a minute to connect."""

_REFUSALS = frozenset(
    ("403", "401", "AccessDenied", "AllAccessDisabled", "ExpiredToken", "InvalidAccessKeyId", "InvalidToken",
     "SignatureDoesNotMatch")
)  # fmt: skip


_STORE_ERRORS = (BaseError, OSError, ValueError)
_SENTENCES = {
    "not_found": "there is no such object",
    "permission_denied": "the store refuses access",
    "unreachable": "the store does not answer",
    "failed": "reading failed",
}


class _Credentials(Boto3CredentialProvider):
    """Credentials as boto3 finds them, each time anew; no text of others brings them back."""

    def __call__(self) -> Any:
        found = super().__call__()
        for secret in ("access_key_id", "secret_access_key", "token"):
            remember_secret(str(found.get(secret) or ""))
        return found


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

    def uri(self, path: str) -> str:
        """Where `path` lies, for people."""
        return f"s3://{self.name}/{self.prefix}{path}"

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
            on_error(self._list_failure(error))

    def read(self, path: str, start: int, end: int) -> Bytes:
        """Bytes of an object, fewer where it ends before."""
        try:
            data = obstore.get_range(self._store, self.prefix + path, start=start, end=end)
        except GenericError as error:
            if self._ends_before(path, start):
                return np.empty(0, dtype=np.uint8)
            raise self._read_failure(path, error) from error
        except _STORE_ERRORS as error:
            raise self._read_failure(path, error) from error
        return np.frombuffer(memoryview(data), dtype=np.uint8)

    def fetch(self, path: str, max_bytes: int) -> Fetched:
        """A whole object and its user metadata."""
        try:
            result = obstore.get(self._store, self.prefix + path)
            if result.meta["size"] > max_bytes:
                raise SourceError(self.uri(path), "failed", f"more than the {max_bytes} bytes it may have")
            return Fetched(bytes(result.bytes()), _user_metadata(result.attributes))
        except _STORE_ERRORS as error:
            raise self._read_failure(path, error) from error

    def user_metadata(self, path: str) -> Mapping[str, str]:
        """User metadata of an object, without its bytes."""
        try:
            result = obstore.get(self._store, self.prefix + path, options={"head": True})
        except _STORE_ERRORS as error:
            raise self._read_failure(path, error) from error
        return _user_metadata(result.attributes)

    def _ends_before(self, path: str, start: int) -> bool:
        """Whether a failed read only began beyond the object's end."""
        try:
            return bool(obstore.head(self._store, self.prefix + path)["size"] <= start)
        except _STORE_ERRORS:
            return False

    @cached_property
    def _store(self) -> Any:
        """The obstore store over the whole bucket, or `SourceError` where no credentials are to be found."""
        session = self._session
        try:
            provider = _Credentials(session)
        except (ValueError, BotoCoreError) as error:
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

    @cached_property
    def _session(self) -> boto3.Session:
        try:
            return boto3.Session()
        except ProfileNotFound as error:
            raise UsageError(str(error)) from error

    @cached_property
    def _client(self) -> Any:
        with suppress(BotoCoreError, ValueError):  # without credentials, it is told when they are needed
            _Credentials(self._session)()
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

    def _read_failure(self, path: str, error: Exception) -> SourceError:
        reason = _reason(error)
        # What follows the first line of obstore's errors is a dump for developers.
        detail = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
        return SourceError(self.uri(path), reason, f"{_SENTENCES[reason]} ({detail})")

    def _list_failure(self, error: ClientError | BotoCoreError) -> SourceError:
        uri = self.uri("")
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
        return SourceError(self.uri(""), "permission_denied", detail)


def _reason(error: Exception) -> str:
    text = str(error)
    if isinstance(error, FileNotFoundError):
        return "not_found"
    if isinstance(error, PermissionError) or any(sign in text for sign in ("403 Forbidden", "401 Unauthorized")):
        return "permission_denied"
    if any(sign in text for sign in ("HTTP error", "error sending request", "timed out")):
        return "unreachable"
    return "failed"


def _user_metadata(attributes: Mapping[Any, Any]) -> dict[str, str]:
    return {str(key).lower(): str(value) for key, value in attributes.items()}
