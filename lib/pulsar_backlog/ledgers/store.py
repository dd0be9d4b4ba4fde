"""Where ledgers lie: a local folder or a bucket, listed and read by ranges, with one kind of error for all.

A `Source` is an address and bounds, so it travels to any worker; what it opens is opened there, once in a process.
Credentials never are part of it: each process finds them where the cloud's own tools look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pulsar_backlog.errors import SourceError, UsageError, raise_error
from pulsar_backlog.ledgers.bookies.address import FORM, folders_of, is_bookies
from pulsar_backlog.ledgers.buckets.access import DEFAULT_ACCESS, Access
from pulsar_backlog.ledgers.buckets.addresses import FORMS, bucket_of, is_bucket
from pulsar_backlog.ledgers.folder import Folder
from pulsar_backlog.ledgers.live.service import LIVE_NEEDED, Live, is_service
from pulsar_backlog.ledgers.live.values import is_live
from pulsar_backlog.ledgers.stored_objects import Fetched, StoredObject, Upload
from pulsar_backlog.wire.arrays import Bytes

if TYPE_CHECKING:
    from pulsar_backlog.ledgers.live.place import LivePlace

OnError = Callable[[SourceError], None]


class Stretch(Protocol):
    """A part of an object that is read from front to back."""

    def read(self, start: int, end: int) -> Bytes:
        """Bytes of the object, as `Source.read` gives them."""

    def continue_with(self, following: Stretch) -> None:
        """What is read after this one: its first bytes may be fetched when all of this one are under way."""


class _Place(Protocol):
    """What a kind of storage gives; all but `list` raise `SourceError` for any fault."""

    def list(self, on_error: OnError) -> Iterator[StoredObject]: ...

    def unfinished(self) -> Iterator[Upload] | None: ...

    def read(self, path: str, start: int, end: int) -> Bytes: ...

    def ahead(self, path: str, start: int, end: int, sparing_bytes: int = 0) -> AbstractContextManager[Stretch]: ...

    def fetch(self, path: str, max_bytes: int) -> Fetched: ...

    def user_metadata(self, path: str) -> Mapping[str, str]: ...

    def uri(self, path: str) -> str: ...


@dataclass(frozen=True)
class Source:
    """A folder or bucket of ledgers, or folders of bookies, opened when first read. Make it with `open_source`.

    Attributes:
        source: folder, or address of a bucket or of bookies.
        endpoint: address of the bucket's service, if it is not the cloud's own, or None.
        access: bounds of what is asked of a bucket.
        live: cluster whose brokers read the ledgers that `source` does not hold, or all where it names the brokers.
        past_page_cache: whether stretches of a folder's files are read past the page cache, where they are not in it.
    """

    source: str
    endpoint: str | None
    access: Access = DEFAULT_ACCESS
    live: Live | None = None
    past_page_cache: bool = False

    @property
    def _stored(self) -> _Place | None:
        if is_service(self.source):
            return None
        past_page_cache = self.past_page_cache and not is_bucket(self.source)  # whose connections are kept once
        return _opened(self.source, self.endpoint, self.access, past_page_cache)

    @property
    def live_place(self) -> LivePlace:
        """The live cluster.

        Raises:
            SourceError: none is named.
        """
        if self.live is None:
            raise SourceError(self.source, "not_found", LIVE_NEEDED)
        return _opened_live(self.live)

    def _place(self, path: str) -> _Place:
        return self.live_place if self._stored is None or is_live(path) else self._stored

    def shared_by(self, readers: int) -> Source:
        """The same for each of several processes that read at once: together they keep to the limits of a cluster."""
        return replace(self, live=self.live.shared_by(readers)) if self.live else self

    def uri(self, path: str) -> str:
        """Where `path` lies, for people."""
        return self._place(path).uri(path)

    def list(self, on_error: OnError | None = None) -> Iterator[StoredObject]:
        """All regular objects under the source, as they are met.

        Args:
            on_error: told of each part that cannot be listed, the rest goes on; without it the first one raises.

        Raises:
            UsageError: the source does not exist.
            SourceError: without `on_error` only.
        """
        report = on_error or raise_error
        if (stored := self._stored) is not None:
            for one in stored.list(report):
                if is_live(one.path):
                    report(SourceError(stored.uri(one.path), "failed", "an object with the name of a live ledger"))
                else:
                    yield one
        if self.live is not None or stored is None:
            yield from self.live_place.list(report)

    def unfinished(self) -> Iterator[Upload] | None:
        """Multipart uploads to the source that were never finished; None where its store has no way to tell.

        Raises:
            SourceError: they cannot be listed; also while they are taken.
        """
        return self._stored.unfinished() if self._stored is not None else None

    def rest(self) -> None:
        """End connections to brokers that are kept for what may be read next."""
        if self.live is not None:
            self.live_place.rest()

    def read(self, path: str, start: int, end: int) -> Bytes:
        """Bytes `start` (inclusive) to `end` (exclusive), fewer where the object ends before; not to be written to.

        Raises:
            SourceError: the object cannot be read.
        """
        if end <= start:
            return np.empty(0, dtype=np.uint8)
        return self._place(path).read(path, start, end)

    def ahead(self, path: str, start: int, end: int, sparing_bytes: int = 0) -> AbstractContextManager[Stretch]:
        """A stretch of an object for one reader who goes from front to back: its bytes are fetched before it asks.

        Reads may overlap, leave something out, and go beyond the stretch. The first `sparing_bytes` are fetched only
        when they are asked for.
        """
        return self._place(path).ahead(path, start, end, sparing_bytes)

    def fetch(self, path: str, max_bytes: int) -> Fetched:
        """A whole small object and its user metadata, in one request.

        Raises:
            SourceError: the object cannot be read, or is larger than `max_bytes`.
        """
        return self._place(path).fetch(path, max_bytes)

    def user_metadata(self, path: str) -> Mapping[str, str]:
        """User metadata of an object with lower-case keys; empty in a local folder.

        Raises:
            SourceError: the object cannot be read.
        """
        return self._place(path).user_metadata(path)


def open_source(
    source: str, endpoint: str | None = None, access: Access = DEFAULT_ACCESS, live: Live | None = None
) -> Source:
    """Name a source; nothing but the existence of a local folder is looked at yet.

    Raises:
        UsageError: no such folder, an address of another kind, or an endpoint that is no address.
    """
    if is_service(source):
        if live is None:
            raise UsageError(f"{source}: {LIVE_NEEDED}")
    elif is_bucket(source):
        bucket_of(source, endpoint, access)
    elif is_bookies(source):
        folders_of(source)
    elif "://" in source:
        raise UsageError(
            f"{source!r} is neither a folder, nor {FORM}, nor pulsar://broker:6650, nor a bucket such as {FORMS}"
        )
    elif not source or not _is_folder(source):
        raise UsageError(f"{source!r} is not a folder")
    return Source(source, endpoint, access, live)


@lru_cache(maxsize=4)
def _opened_live(live: Live) -> LivePlace:
    from pulsar_backlog.ledgers.live.place import LivePlace  # noqa: PLC0415 - HTTP and protobuf, which few need

    return LivePlace(live)


def _is_folder(source: str) -> bool:
    try:
        return Path(source).is_dir()
    except OSError as error:
        raise UsageError(f"{source!r} cannot be opened ({error.strerror}): run as a user who has permission") from error


@lru_cache(maxsize=16)
def _opened(source: str, endpoint: str | None, access: Access, past_page_cache: bool) -> _Place:
    """The place of a source: its connections, credentials and patience serve all tasks of a process."""
    if is_bookies(source):
        return folders_of(source)
    if is_bucket(source):
        return bucket_of(source, endpoint, access)
    return Folder(Path(source), past_page_cache=past_page_cache)
