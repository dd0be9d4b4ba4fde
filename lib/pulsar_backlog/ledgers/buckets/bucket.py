"""An S3 bucket as a place of ledgers.

Read through obstore; listed through boto3, because obstore's listing ends at the first key it cannot spell (`../x`),
and a shared bucket may hold any key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any, TypeVar

import boto3
import numpy as np
import obstore
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectionError,  # botocore's own, not the builtin
    HTTPClientError,
    NoCredentialsError,
    ProfileNotFound,
    ReadTimeoutError,
    ResponseStreamingError,
)
from botocore.parsers import ResponseParserError
from obstore.auth.boto3 import Boto3CredentialProvider
from obstore.exceptions import BaseError, GenericError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.ledgers.buckets.patience import Patience, StoreError, kind_of_status
from pulsar_backlog.ledgers.values import Bytes, Fetched, StoredObject

Answer = TypeVar("Answer")

DEFAULT_REGION = "us-east-1"
CONNECT_SECONDS = 5
SILENCE_SECONDS = 30
"""How long no byte may come before a request is made again."""
REQUEST_SECONDS = 120
"""How long one request may take, its answer included."""

_REFUSALS = frozenset(
    ("403", "401", "AccessDenied", "AllAccessDisabled", "ExpiredToken", "InvalidAccessKeyId", "InvalidToken",
     "SignatureDoesNotMatch")
)  # fmt: skip


_STORE_ERRORS = (BaseError, OSError, ValueError)
_REASONS = {
    "not_found": "not_found",
    "denied": "permission_denied",
    "unconnected": "unreachable",
    "slow": "unreachable",
    "cut": "unreachable",
}
_SENTENCES = {
    "not_found": "there is no such object",
    "denied": "the store refuses access",
    "unconnected": "the store does not answer",
    "slow": "the store does not answer in time",
    "cut": "the store's answers end early",
    "throttled": "the store asks for fewer requests, however long it is waited",
}
_KINDS = {"Connect": "unconnected", "Timeout": "slow", "Interrupted": "cut", "Request": "cut"}
"""By the word of obstore's own classification of HTTP errors."""


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
        token: dict[str, str] = {}
        while True:
            try:
                page = self._patience.ask(lambda: self._page(token))  # noqa: B023 - called at once
            except StoreError as fault:
                on_error(self._failure("", fault))
                return
            except (ClientError, BotoCoreError) as error:
                on_error(self._list_failure(error))
                return
            for item in page.get("Contents", ()):
                if not item["Key"].endswith("/"):  # folders that consoles make
                    yield StoredObject(item["Key"][len(self.prefix) :], item["Size"], item.get("ETag"))
            if not page.get("IsTruncated"):
                return
            token = {"ContinuationToken": page["NextContinuationToken"]}

    def read(self, path: str, start: int, end: int) -> Bytes:
        """Bytes of an object, fewer where it ends before."""
        return np.frombuffer(self._get(path, start, end)[0], dtype=np.uint8)

    def fetch(self, path: str, max_bytes: int) -> Fetched:
        """A whole object and its user metadata."""
        data, attributes = self._get(path, 0, max_bytes + 1)
        if len(data) > max_bytes:
            raise SourceError(self.uri(path), "failed", f"more than the {max_bytes} bytes it may have")
        return Fetched(bytes(data), _user_metadata(attributes))

    def user_metadata(self, path: str) -> Mapping[str, str]:
        """User metadata of an object, without its bytes."""
        return _user_metadata(self._ask(path, lambda: self._head(path)).attributes)

    def _get(self, path: str, start: int, end: int) -> tuple[memoryview, Any]:
        """Bytes of an object and its attributes. Asked for by their place, so that an answer says how many they are."""

        def request() -> tuple[memoryview, Any]:
            try:
                answer = obstore.get(self._store, self.prefix + path, options={"range": (start, end)})
            except GenericError as error:
                if "416 Range Not Satisfiable" in str(error) and (head := self._head(path)).meta["size"] <= start:
                    return memoryview(b""), head.attributes
                raise
            data, (first, after) = memoryview(answer.bytes()), answer.range
            if len(data) != after - first:
                raise StoreError("cut", f"{len(data)} bytes of {after - first}")
            return data, answer.attributes

        return self._ask(path, request)

    def _head(self, path: str) -> Any:
        return obstore.get(self._store, self.prefix + path, options={"head": True})

    def _ask(self, path: str, request: Callable[[], Answer]) -> Answer:
        """The answer of the store, asked again where that may help."""

        def once() -> Answer:
            try:
                return request()
            except _STORE_ERRORS as error:
                raise error_of(error) from error

        try:
            return self._patience.ask(once)
        except StoreError as fault:
            raise self._failure(path, fault) from fault

    @cached_property
    def _patience(self) -> Patience:
        return Patience()

    @cached_property
    def _store(self) -> Any:
        """The obstore store over the whole bucket, or `SourceError` where no credentials are to be found."""
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
                "read_timeout": timedelta(seconds=SILENCE_SECONDS),
                "timeout": timedelta(seconds=REQUEST_SECONDS),
            },
            retry_config={"max_retries": 0},  # it would ask a store that is not there as often as a busy one
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
        return self._session.client(
            "s3",
            region_name=self._session.region_name or DEFAULT_REGION,
            endpoint_url=self.endpoint,
            config=Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=SILENCE_SECONDS,
                retries={"total_max_attempts": 1, "mode": "standard"},
                s3={"addressing_style": "path"} if self.endpoint else {},
            ),
        )

    def _page(self, token: Mapping[str, str]) -> Any:
        try:
            return self._client.list_objects_v2(Bucket=self.name, Prefix=self.prefix, **token)
        except (ConnectionClosedError, HTTPClientError, ResponseParserError, ResponseStreamingError) as error:
            raise StoreError("cut" if not isinstance(error, ReadTimeoutError) else "slow", str(error)) from error
        except ConnectionError as error:
            raise StoreError("unconnected", str(error)) from error
        except ClientError as error:
            kind = kind_of_status(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400))
            if kind in ("throttled", "server_error", "slow"):
                raise StoreError(kind, str(error)) from error
            raise

    def _failure(self, path: str, fault: StoreError) -> SourceError:
        # What follows the first line of obstore's errors is a dump for developers.
        detail = str(fault).splitlines()[0][:300]
        sentence = _SENTENCES.get(fault.kind, "reading failed" if path else "listing failed")
        return SourceError(self.uri(path), _REASONS.get(fault.kind, "failed"), f"{sentence} ({detail})")

    def _list_failure(self, error: ClientError | BotoCoreError) -> SourceError:
        uri = self.uri("")
        if isinstance(error, NoCredentialsError):
            return self._no_credentials()
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


def error_of(error: Exception) -> StoreError:
    """What an error of obstore says: its first line names the HTTP status, else the dump behind it names the kind."""
    text = str(error).strip() or type(error).__name__
    status = re.search(r"non-2xx status code: (\d{3})", text)
    if isinstance(error, FileNotFoundError):
        kind = "not_found"
    elif isinstance(error, (PermissionDeniedError, UnauthenticatedError)):
        kind = "denied"
    elif status:
        kind = kind_of_status(int(status[1])) or "failed"
    elif "Content-Length Header missing" in text or "non-partial response" in text:
        kind = "cut"  # a proxy's own page, or an answer that it changed
    else:
        words = re.findall(r"kind: (\w+)", text)
        kind = next((_KINDS[word] for word in words if word in _KINDS), "failed")
    return StoreError(kind, text)


def _user_metadata(attributes: Mapping[Any, Any]) -> dict[str, str]:
    return {str(key).lower(): str(value) for key, value in attributes.items()}
