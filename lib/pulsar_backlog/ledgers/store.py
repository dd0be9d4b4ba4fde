"""Where ledgers lie: a local folder or a bucket, listed and read by ranges, with one kind of error for both.

A `Source` is two strings, so it travels to any worker; what it opens is opened there. Credentials never are part of
it: each process finds them in the usual AWS environment, profile and files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NoReturn, Protocol
from urllib.parse import urlsplit

import numpy as np

from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.ledgers.buckets.bucket import Bucket
from pulsar_backlog.ledgers.folder import Folder
from pulsar_backlog.ledgers.values import Bytes, Fetched, StoredObject

OnError = Callable[[SourceError], None]


class _Place(Protocol):
    """What a kind of storage gives; all but `list` raise `SourceError` for any fault."""

    def list(self, on_error: OnError) -> Iterator[StoredObject]: ...

    def read(self, path: str, start: int, end: int) -> Bytes: ...

    def fetch(self, path: str, max_bytes: int) -> Fetched: ...

    def user_metadata(self, path: str) -> Mapping[str, str]: ...

    def uri(self, path: str) -> str: ...


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
        return Bucket.of(self.source, self.endpoint) if is_bucket(self.source) else Folder(Path(self.source))

    def uri(self, path: str) -> str:
        """Where `path` lies, for people."""
        return self._place.uri(path)

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
        """Bytes `start` (inclusive) to `end` (exclusive), fewer where the object ends before; not to be written to.

        Raises:
            SourceError: the object cannot be read.
        """
        if end <= start:
            return np.empty(0, dtype=np.uint8)
        return self._place.read(path, start, end)

    def fetch(self, path: str, max_bytes: int) -> Fetched:
        """A whole small object and its user metadata, in one request.

        Raises:
            SourceError: the object cannot be read, or is larger than `max_bytes`.
        """
        return self._place.fetch(path, max_bytes)

    def user_metadata(self, path: str) -> Mapping[str, str]:
        """User metadata of an object with lower-case keys; empty in a local folder.

        Raises:
            SourceError: the object cannot be read.
        """
        return self._place.user_metadata(path)


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


def _check_endpoint(endpoint: str | None) -> None:
    if endpoint is None:
        return
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"--endpoint {endpoint!r} is not an address such as http://127.0.0.1:9000")
    if parts.username or parts.password:
        raise UsageError("--endpoint must not carry credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")


def _raise(error: SourceError) -> NoReturn:
    raise error
