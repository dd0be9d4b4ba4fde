"""Where ledgers lie: a local folder or a bucket, listed and read by ranges. One place for all their errors.

A `Source` is two strings, so it travels to any worker; what it opens is opened there. Credentials never are part of
it: each process finds them in the usual AWS environment, profile and files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, Protocol
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import obstore
from obstore.exceptions import BaseError, GenericError

from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.ledgers.bucket import Bucket
from pulsar_backlog.ledgers.folder import Folder
from pulsar_backlog.ledgers.values import StoredObject

Bytes = npt.NDArray[np.uint8]
OnError = Callable[[SourceError], None]

_STORE_ERRORS = (BaseError, OSError, ValueError)
_SENTENCES = {
    "not_found": "there is no such object",
    "permission_denied": "the store refuses access",
    "unreachable": "the store does not answer",
    "failed": "reading failed",
}


class _Place(Protocol):
    """What a kind of storage gives: an obstore store, the key of a path in it, and a listing."""

    @property
    def store(self) -> Any: ...

    def key(self, path: str) -> str: ...

    def list(self, on_error: OnError) -> Iterator[StoredObject]: ...


@dataclass(frozen=True)
class Fetched:
    """A whole object: its bytes, and its user metadata with lower-case keys (empty in a local folder)."""

    data: bytes
    user_metadata: Mapping[str, str]


@dataclass(frozen=True)
class Source:
    """A folder or bucket of offloaded ledgers, opened when first read. Make it with `open_source`.

    Attributes:
        source: folder, or `s3://bucket[/prefix]`.
        endpoint: address of an S3 service other than AWS, or None.
    """

    source: str
    endpoint: str | None

    def __reduce__(self) -> tuple[type[Source], tuple[str, str | None]]:
        """Only the two strings travel; connections and credentials stay."""
        return Source, (self.source, self.endpoint)

    @cached_property
    def _place(self) -> _Place:
        if is_bucket(self.source):
            return Bucket.of(self.source, self.endpoint)
        return Folder(Path(self.source))

    def uri(self, path: str) -> str:
        """Where `path` lies, for people."""
        return f"{self.source.rstrip('/')}/{path}"

    def list(self, on_error: OnError | None = None) -> Iterator[StoredObject]:
        """All regular objects under the source, as they are met.

        Args:
            on_error: told of each part that cannot be listed, the rest goes on; without it the first one raises.

        Raises:
            UsageError: the source does not exist.
            SourceError: without `on_error` only.
        """
        yield from self._place.list(on_error or _raise)

    def read(self, path: str, start: int, end: int) -> Bytes:
        """Bytes `start` (inclusive) to `end` (exclusive), fewer where the object ends before; not writable.

        Raises:
            SourceError: the object cannot be read.
        """
        if end <= start:
            return np.empty(0, dtype=np.uint8)
        try:
            data = obstore.get_range(self._store(path), self._place.key(path), start=start, end=end)
        except GenericError as error:
            if self._ends_before(path, start):
                return np.empty(0, dtype=np.uint8)
            raise self._failure(path, error) from error
        except _STORE_ERRORS as error:
            raise self._failure(path, error) from error
        return np.frombuffer(memoryview(data), dtype=np.uint8)

    def fetch(self, path: str, max_bytes: int) -> Fetched:
        """A whole small object and its user metadata, in one request.

        Raises:
            SourceError: the object cannot be read, or is larger than `max_bytes`.
        """
        try:
            result = obstore.get(self._store(path), self._place.key(path))
            if (size := result.meta["size"]) > max_bytes:
                raise SourceError(self.uri(path), "failed", f"{size} bytes, more than the {max_bytes} it may have")
            return Fetched(bytes(result.bytes()), _user_metadata(result.attributes))
        except _STORE_ERRORS as error:
            raise self._failure(path, error) from error

    def read_all(self, path: str, max_bytes: int) -> bytes:
        """A whole object.

        Raises:
            SourceError: the object cannot be read, or is larger than `max_bytes`.
        """
        return self.fetch(path, max_bytes).data

    def user_metadata(self, path: str) -> Mapping[str, str]:
        """User metadata of an object with lower-case keys; empty in a local folder.

        Raises:
            SourceError: the object cannot be read.
        """
        if not is_bucket(self.source):
            return {}
        try:
            result = obstore.get(self._store(path), self._place.key(path), options={"head": True})
            return _user_metadata(result.attributes)
        except _STORE_ERRORS as error:
            raise self._failure(path, error) from error

    def _store(self, path: str) -> Any:
        """The store; a fault in opening it is a fault of the object that was asked for."""
        try:
            return self._place.store
        except SourceError as error:
            raise SourceError(self.uri(path), error.reason, str(error)) from error

    def _ends_before(self, path: str, start: int) -> bool:
        """Whether a failed read only began beyond the object's end."""
        try:
            return bool(obstore.head(self._place.store, self._place.key(path))["size"] <= start)
        except (SourceError, *_STORE_ERRORS):
            return False

    def _failure(self, path: str, error: Exception) -> SourceError:
        reason = _reason(error)
        return SourceError(self.uri(path), reason, f"{_SENTENCES[reason]} ({first_line(error)})")


def open_source(source: str, endpoint: str | None = None) -> Source:
    """Name a source; nothing but the existence of a local folder is looked at yet.

    Raises:
        UsageError: no such folder, an address of another kind, or an endpoint that is no address.
    """
    if is_bucket(source):
        if not urlsplit(source).netloc:
            raise UsageError(f"{source!r} names no bucket; write s3://bucket or s3://bucket/prefix")
        _check_endpoint(endpoint)
    elif "://" in source:
        raise UsageError(f"{source!r} is neither a folder nor s3://bucket[/prefix]")
    elif not source or not Path(source).is_dir():
        raise UsageError(f"{source!r} is not a folder")
    return Source(source, endpoint)


def is_bucket(source: str) -> bool:
    """Whether a source is a bucket rather than a folder."""
    return source.startswith("s3://")


def first_line(error: BaseException) -> str:
    """The first line of an error: what follows in obstore's is a dump for developers."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def _check_endpoint(endpoint: str | None) -> None:
    if endpoint is None:
        return
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"--endpoint {endpoint!r} is not an address such as http://127.0.0.1:9000")
    if parts.username or parts.password:
        raise UsageError("--endpoint must not carry credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")


def _reason(error: Exception) -> str:
    text = str(error)
    if isinstance(error, FileNotFoundError):
        return "not_found"
    if isinstance(error, PermissionError) or any(
        sign in text for sign in ("403 Forbidden", "401 Unauthorized", "Permission denied", "Unauthenticated")
    ):
        return "permission_denied"
    if any(sign in text for sign in ("HTTP error", "error sending request", "timed out", "connect error")):
        return "unreachable"
    return "failed"


def _user_metadata(attributes: Mapping[Any, Any]) -> dict[str, str]:
    return {str(key).lower(): str(value) for key, value in attributes.items()}


def _raise(error: SourceError) -> NoReturn:
    raise error
