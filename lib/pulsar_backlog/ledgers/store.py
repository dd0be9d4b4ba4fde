"""Where ledgers lie: a local folder or a bucket, listed and read by ranges, with one kind of error for all.

A `Source` is an address and bounds, so it travels to any worker; what it opens is opened there, once in a process.
Credentials never are part of it: each process finds them where the cloud's own tools look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NoReturn, Protocol

import numpy as np

from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.ledgers.buckets.access import DEFAULT_ACCESS, Access
from pulsar_backlog.ledgers.buckets.addresses import FORMS, bucket_of, is_bucket
from pulsar_backlog.ledgers.folder import Folder
from pulsar_backlog.ledgers.values import Bytes, Fetched, StoredObject

OnError = Callable[[SourceError], None]


class Stretch(Protocol):
    """A part of an object that is read from front to back."""

    def read(self, start: int, end: int) -> Bytes:
        """Bytes of the object, as `Source.read` gives them."""


class _Place(Protocol):
    """What a kind of storage gives; all but `list` raise `SourceError` for any fault."""

    def list(self, on_error: OnError) -> Iterator[StoredObject]: ...

    def read(self, path: str, start: int, end: int) -> Bytes: ...

    def ahead(self, path: str, start: int, end: int) -> AbstractContextManager[Stretch]: ...

    def fetch(self, path: str, max_bytes: int) -> Fetched: ...

    def user_metadata(self, path: str) -> Mapping[str, str]: ...

    def uri(self, path: str) -> str: ...


@dataclass(frozen=True)
class Source:
    """A folder or bucket of offloaded ledgers, opened when first read. Make it with `open_source`.

    Attributes:
        source: folder, or address of a bucket.
        endpoint: address of the bucket's service, where it is not the cloud's own, or None.
        access: bounds of what is asked of a bucket.
    """

    source: str
    endpoint: str | None
    access: Access = DEFAULT_ACCESS

    @property
    def _place(self) -> _Place:
        return _opened(self.source, self.endpoint, self.access)

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

    def ahead(self, path: str, start: int, end: int) -> AbstractContextManager[Stretch]:
        """A stretch of an object for one reader who goes from front to back: its bytes are fetched before it asks.

        Reads may overlap, leave something out, and go beyond the stretch.
        """
        return self._place.ahead(path, start, end)

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


def open_source(source: str, endpoint: str | None = None, access: Access = DEFAULT_ACCESS) -> Source:
    """Name a source; nothing but the existence of a local folder is looked at yet.

    Raises:
        UsageError: no such folder, an address of another kind, or an endpoint that is no address.
    """
    if is_bucket(source):
        bucket_of(source, endpoint, access)
    elif "://" in source:
        raise UsageError(f"{source!r} is neither a folder nor a bucket such as {FORMS}")
    elif not source or not _is_folder(source):
        raise UsageError(f"{source!r} is not a folder")
    return Source(source, endpoint, access)


def _is_folder(source: str) -> bool:
    try:
        return Path(source).is_dir()
    except OSError as error:
        raise UsageError(f"{source!r} cannot be looked for ({error.strerror}): run as a user who may") from error


@lru_cache(maxsize=16)
def _opened(source: str, endpoint: str | None, access: Access) -> _Place:
    """The place of a source: its connections, credentials and patience serve all tasks of a process."""
    return bucket_of(source, endpoint, access) if is_bucket(source) else Folder(Path(source))


def _raise(error: SourceError) -> NoReturn:
    raise error
