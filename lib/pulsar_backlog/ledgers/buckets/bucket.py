"""A bucket as a place of ledgers, and of results: read and written through obstore, listed by pages of our own.

obstore's listing ends at the first key that it cannot spell (`../x`, `a//b`), with all others of its page; a shared
bucket may hold any key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial
from mimetypes import guess_type
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
import obstore
import urllib3
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    GenericError,
)

from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.ledgers.buckets.access import CONNECT_SECONDS, SILENCE_SECONDS, Access
from pulsar_backlog.ledgers.buckets.cloud import Cloud, Marker, Page, Question, Uploads
from pulsar_backlog.ledgers.buckets.obstore_errors import error_of, is_beyond_end
from pulsar_backlog.ledgers.buckets.patience import Patience, StoreError
from pulsar_backlog.ledgers.buckets.read_ahead import ReadAhead
from pulsar_backlog.ledgers.buckets.sweep import sweep
from pulsar_backlog.ledgers.buckets.web import get, web_pool
from pulsar_backlog.ledgers.stored_objects import Fetched, StoredObject, Upload
from pulsar_backlog.wire.arrays import Bytes

Answer = TypeVar("Answer")

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
    "throttled": "the store asks for fewer requests, even after long waits",
}


@dataclass(frozen=True)
class Bucket:
    """A bucket, or the part of one under a prefix that ends at a slash."""

    cloud: Cloud
    prefix: str
    access: Access

    def uri(self, path: str) -> str:
        """Where `path` lies, for people."""
        return f"{self.cloud.root}{self.prefix}{path}"

    def list(self, on_error: Callable[[SourceError], None]) -> Iterator[StoredObject]:
        """Objects as pages arrive, several of which are asked for at once.

        Raises:
            UsageError: there is no such bucket.
        """
        start = len(self.prefix)
        told: set[str] = set()  # by all who list side by side
        with closing(sweep(self._page, self.prefix, self.cloud.skips, self.access.concurrency)) as found:
            for page in found:
                if isinstance(page, StoreError):
                    if page.kind == "not_found":
                        raise UsageError(f"there is no {self.cloud.name}") from page
                    error = self._failure("", page)
                    if str(error) not in told:
                        on_error(error)
                    told.add(str(error))
                    continue
                for listed in page:
                    if not listed.key.endswith("/"):  # folders that consoles make
                        yield StoredObject(listed.key[start:], listed.size, listed.etag, listed.modified_ms)

    def unfinished(self) -> Iterator[Upload] | None:
        """Multipart uploads that were never finished; None where the store has no way to tell."""
        uploads = self.cloud.uploads
        return None if uploads is None else self._unfinished(uploads)

    def _unfinished(self, uploads: Uploads) -> Iterator[Upload]:
        after: Marker | None = None
        try:
            while True:
                found, following = uploads.page(self._answer(partial(uploads.request, self.prefix, after)))
                for key, upload_id, started_ms in found:
                    size = self._parts_size(uploads, key, upload_id)
                    yield Upload(key[len(self.prefix) :], upload_id, started_ms, size)
                if following is None or following == after:
                    return
                after = following
        except StoreError as error:
            raise self._failure("", error) from error

    def _parts_size(self, uploads: Uploads, key: str, upload_id: str) -> int | None:
        """Bytes of the parts of an upload; None where they may not be listed, or it has ended meanwhile."""
        total, after = 0, None
        try:
            while True:
                size, following = uploads.parts_page(
                    self._answer(partial(uploads.parts_request, key, upload_id, after))
                )
                total += size
                if following is None or following == after:
                    return total
                after = following
        except StoreError:
            return None

    def read(self, path: str, start: int, end: int) -> Bytes:
        """Bytes of an object, fewer where it ends before."""
        if end - start <= self.access.range_bytes:
            return self._range(path, start, end)
        with self.ahead(path, start, end) as stretch:
            return stretch.read(start, end)

    def ahead(self, path: str, start: int, end: int) -> ReadAhead:
        """A stretch of an object, read before it is asked for."""
        return ReadAhead(lambda first, after: self._range(path, first, after), start, end, self.access, self._threads)

    def fetch(self, path: str, max_bytes: int) -> Fetched:
        """A whole object and its user metadata."""
        data, attributes = self._get(path, 0, max_bytes + 1)
        if len(data) > max_bytes:
            raise SourceError(self.uri(path), "failed", f"more than the {max_bytes} bytes it may have")
        return Fetched(bytes(data), _user_metadata(attributes))

    def user_metadata(self, path: str) -> Mapping[str, str]:
        """User metadata of an object, without its bytes."""
        return _user_metadata(self._ask(path, lambda: self._head(path)).attributes)

    def put(self, path: str, data: bytes | Path | BinaryIO) -> None:
        """Write an object, whole or not at all; a file goes in parts. Its name tells what it is to a browser.

        Raises:
            SourceError: it cannot be written.
        """
        kind, _ = guess_type(path)
        attributes: Any = {"Content-Type": kind or "application/octet-stream"}

        def request() -> None:
            if not isinstance(data, (bytes, Path)):
                data.seek(0)  # it may be asked again
            obstore.put(self._store, self.prefix + path, data, attributes=attributes)

        self._ask(path, request)

    def put_new(self, path: str, data: bytes) -> bool:
        """Write an object under a name that nobody else has taken; whether that is so.

        Of two who try at once one has it, where the store knows conditions (AWS, Google, Azure do); where it does not,
        one who comes a moment later is refused all the same.

        Raises:
            SourceError: it cannot be written.
        """

        def request() -> bool:
            try:
                with suppress(FileNotFoundError):
                    obstore.head(self._store, self.prefix + path)
                    raise AlreadyExistsError
                obstore.put(self._store, self.prefix + path, data, mode="create")
            except AlreadyExistsError:
                return False
            return True

        # Asked again after an answer that was lost, the name is taken: by us.
        return self._ask(path, request) or self.read(path, 0, len(data) + 1).tobytes() == data

    def remove(self, path: str) -> None:
        """Remove an object that may be there.

        Raises:
            SourceError: it cannot be removed.
        """

        def request() -> None:
            with suppress(FileNotFoundError):
                obstore.delete(self._store, self.prefix + path)

        self._ask(path, request)

    def _range(self, path: str, start: int, end: int) -> Bytes:
        return np.frombuffer(self._get(path, start, end)[0], dtype=np.uint8)

    def _get(self, path: str, start: int, end: int) -> tuple[memoryview, Any]:
        """Bytes of an object and its attributes. Asked for by their place, so that an answer says how many they are."""

        def request() -> tuple[memoryview, Any]:
            try:
                answer = obstore.get(self._store, self.prefix + path, options={"range": (start, end)})
            except GenericError as error:
                if is_beyond_end(error) and (head := self._head(path)).meta["size"] <= start:
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

    def _page(self, question: Question) -> Page:
        """A page of the listing, asked for again where that may help."""

        def once() -> Page:
            return self.cloud.page(self._got(*self.cloud.request(question)))

        return self._patience.ask(once)

    def _answer(self, request: Callable[[], tuple[str, dict[str, str]]]) -> bytes:
        """The body of an answer, asked for again where that may help."""
        return self._patience.ask(lambda: self._got(*request()))

    def _got(self, address: str, headers: dict[str, str]) -> bytes:
        return get(self._web, address, headers, self.access.timeout_seconds)

    @cached_property
    def _patience(self) -> Patience:
        return Patience(self.access.attempts)

    @cached_property
    def _web(self) -> urllib3.PoolManager:
        return web_pool(self.cloud.service, self.cloud.ca_file, self.access.concurrency)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.access.concurrency, "reading")

    @cached_property
    def _store(self) -> Any:
        """The obstore store over the whole bucket."""
        seconds = self.access.timeout_seconds
        options: dict[str, Any] = {
            "allow_http": self.cloud.service.startswith("http://"),
            "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
            "read_timeout": timedelta(seconds=min(SILENCE_SECONDS, seconds)),
            "timeout": timedelta(seconds=seconds),
        }
        if self.cloud.ca_file:
            try:
                options["root_certificate"] = Path(self.cloud.ca_file).read_bytes()
            except OSError as error:
                raise UsageError(
                    f"the certificates in {self.cloud.ca_file} cannot be read: {error.strerror}"
                ) from error
        return self.cloud.store(options)

    def _failure(self, path: str, error: StoreError) -> SourceError:
        # What follows the first line of obstore's errors is a dump for developers.
        detail = str(error).splitlines()[0][:300]
        sentence = _SENTENCES.get(error.kind, "the store failed" if path else "listing failed")
        return SourceError(self.uri(path), _REASONS.get(error.kind, "failed"), f"{sentence} ({detail})")


def _user_metadata(attributes: Mapping[Any, Any]) -> dict[str, str]:
    return {str(key).lower(): str(value) for key, value in attributes.items()}
