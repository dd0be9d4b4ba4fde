"""A bucket as a place of ledgers, and of results: listed by pages, read by ranges, written whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from io import BytesIO
from mimetypes import guess_type
from pathlib import Path
from typing import BinaryIO, TypeVar

import urllib3

from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.ledgers.buckets.access import Access
from pulsar_backlog.ledgers.buckets.cloud import Cloud, Page, Question, Uploads
from pulsar_backlog.ledgers.buckets.numbers import check_range, head_size
from pulsar_backlog.ledgers.buckets.patience import Patience, StoreError
from pulsar_backlog.ledgers.buckets.sweep import sweep
from pulsar_backlog.ledgers.buckets.unfinished import unfinished_uploads
from pulsar_backlog.ledgers.buckets.web import MAX_ANSWER_BYTES, Answer, Request, ask, web_pool
from pulsar_backlog.ledgers.part import Part
from pulsar_backlog.ledgers.read_ahead import ReadAhead
from pulsar_backlog.ledgers.stored_objects import Fetched, StoredObject, Upload
from pulsar_backlog.wire.arrays import Bytes

Result = TypeVar("Result")

MIN_PART_BYTES = 5 * 1024 * 1024
"""Of S3; Google wants whole multiples of 256 KiB."""
MAX_PARTS = 10_000
"""Of S3; Azure takes more."""
RANGES_AHEAD = 16
"""Ranges of one stretch under way or waiting at once.

A scan takes a GB a second and more. Of 8 MiB each, fewer ranges are used up before the next ones come, where an answer
takes 50 ms: with ten, it waited for a third of its time.
"""
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
    "redirected": "the store redirects to another address, which is not followed: give its own one as --endpoint",
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
        reported: set[str] = set()  # by all who list side by side
        with closing(sweep(self._page, self.prefix, self.cloud.skips, self.access.concurrency)) as pages:
            for page in pages:
                if isinstance(page, StoreError):
                    if page.kind == "not_found":
                        raise UsageError(f"there is no {self.cloud.name}") from page
                    error = self._failure("", page)
                    if str(error) not in reported:
                        on_error(error)
                    reported.add(str(error))
                    continue
                for listed in page:
                    if not listed.key.endswith("/"):  # folders that consoles make
                        yield StoredObject(listed.key[start:], listed.size, listed.etag, listed.modified_ms)

    def unfinished(self) -> Iterator[Upload] | None:
        """Multipart uploads that were never finished; None where the store has no way to tell."""
        uploads = self.cloud.uploads
        return None if uploads is None else self._unfinished(uploads)

    def _unfinished(self, uploads: Uploads) -> Iterator[Upload]:
        try:
            yield from unfinished_uploads(uploads, self._answer, self.prefix)
        except StoreError as error:
            raise self._failure("", error) from error

    def read(self, path: str, start: int, end: int) -> Bytes:
        """Bytes of an object, fewer where it ends before."""
        if end - start <= self.access.range_bytes:
            return self._range(path, start, end).data
        with self.ahead(path, start, end) as stretch:
            return stretch.read(start, end)

    def ahead(self, path: str, start: int, end: int, sparing_bytes: int = 0) -> ReadAhead:
        """A stretch of an object, read before it is asked for, but for the first `sparing_bytes`."""
        most = min(RANGES_AHEAD, self.access.concurrency)
        return ReadAhead(
            partial(self._range, path), start, end, self.access.range_bytes, most, self._threads, sparing_bytes
        )

    def fetch(self, path: str, max_bytes: int) -> Fetched:
        """A whole object and its user metadata."""
        data, metadata = self._get(path, 0, max_bytes + 1)
        if len(data) > max_bytes:
            raise SourceError(self.uri(path), "failed", f"more than the {max_bytes} bytes it may have")
        return Fetched(bytes(data), metadata)

    def user_metadata(self, path: str) -> Mapping[str, str]:
        """User metadata of an object, without its bytes."""
        return self._user_metadata(self._or_failure(path, lambda: self._send(self._head(path))))

    def put(self, path: str, data: bytes | Path | BinaryIO) -> None:
        """Write an object, whole or not at all; a large one goes in parts. Its name tells what it is to a browser.

        Raises:
            SourceError: it cannot be written.
        """
        key, content_type = self.prefix + path, guess_type(path)[0] or "application/octet-stream"

        def write(file: BinaryIO) -> None:
            size = file.seek(0, 2)
            file.seek(0)
            part = self._part_bytes(size)
            if size <= part:
                body = file.read()
                self._send(lambda: self.cloud.put_request(key, body, content_type, False))
            else:
                self.cloud.put_parts(self._send, key, iter(lambda: file.read(part), b""), size, content_type)

        if isinstance(data, Path):
            with data.open("rb") as opened:
                self._or_failure(path, lambda: write(opened))
        else:
            self._or_failure(path, lambda: write(BytesIO(data) if isinstance(data, bytes) else data))

    def put_new(self, path: str, data: bytes) -> bool:
        """Write an object under a name that nobody else has taken; whether that is so.

        Of two who try at once one has it, where the store knows conditions (AWS, Google, Azure do); where it does not,
        one who comes a moment later is refused all the same.

        Raises:
            SourceError: it cannot be written.
        """
        key = self.prefix + path

        def is_written() -> bool:
            try:
                self._send(self._head(path))
                return False
            except StoreError as error:
                if error.kind != "not_found":
                    raise
            try:
                self._send(lambda: self.cloud.put_request(key, data, "application/octet-stream", True))
            except StoreError as error:
                if error.kind != "taken":
                    raise
                return False
            return True

        # Asked again after an answer that was lost, the name is taken: by us.
        return self._or_failure(path, is_written) or self.read(path, 0, len(data) + 1).tobytes() == data

    def remove(self, path: str) -> None:
        """Remove an object that may be there.

        Raises:
            SourceError: it cannot be removed.
        """
        try:
            self._send(lambda: self.cloud.object_request("DELETE", self.prefix + path))
        except StoreError as error:
            if error.kind != "not_found":
                raise self._failure(path, error) from error

    def _part_bytes(self, size: int) -> int:
        """How large the parts of an object are: as much as one request reads, in whole MiB, and more where it needs."""
        wanted = max(MIN_PART_BYTES, self.access.range_bytes, -(-size // MAX_PARTS))
        return -(-wanted // 2**20) * 2**20

    def _range(self, path: str, start: int, end: int) -> Part:
        return Part.of_content(self._get(path, start, end)[0])

    def _get(self, path: str, start: int, end: int) -> tuple[bytes | memoryview, Mapping[str, str]]:
        """Bytes of an object and its user metadata. Asked for by their place: an answer says how many they are."""

        def request() -> Request:
            return self.cloud.object_request("GET", self.prefix + path, {"Range": f"bytes={start}-{end - 1}"})

        def get() -> tuple[bytes | memoryview, Mapping[str, str]]:
            try:
                answer = self._send(request, max(end - start, MAX_ANSWER_BYTES), partial(check_range, start, end))
            except StoreError as error:
                if error.kind == "beyond_end":
                    head = self._send(self._head(path))
                    if head_size(head) <= start:
                        return b"", self._user_metadata(head)
                raise
            return answer.content, self._user_metadata(answer)

        return self._or_failure(path, get)

    def _head(self, path: str) -> Callable[[], Request]:
        return lambda: self.cloud.object_request("HEAD", self.prefix + path)

    def _user_metadata(self, answer: Answer) -> dict[str, str]:
        start = self.cloud.metadata_prefix
        names = ((name.lower(), value) for name, value in answer.headers.items())
        return {name.removeprefix(start): value for name, value in names if name.startswith(start)}

    def _or_failure(self, path: str, request: Callable[[], Result]) -> Result:
        """What a request brings, with its faults in words."""
        try:
            return request()
        except StoreError as fault:
            raise self._failure(path, fault) from fault

    def _send(
        self,
        request: Callable[[], Request],
        max_bytes: int = MAX_ANSWER_BYTES,
        check: Callable[[Answer], object] = bool,
    ) -> Answer:
        """The answer of the store, asked again where that may help, also where `check` refuses it."""

        def once(seconds: float) -> Answer:
            answer = ask(self._web, request(), seconds, max_bytes)
            check(answer)
            return answer

        return self._patience.ask(once)

    def _page(self, question: Question) -> Page:
        """A page of the listing, asked for again where that may help."""

        def once(seconds: float) -> Page:
            return self.cloud.page(ask(self._web, Request("GET", *self.cloud.request(question)), seconds).body)

        return self._patience.ask(once)

    def _answer(self, request: Callable[[], tuple[str, dict[str, str]]]) -> bytes:
        """The body of an answer, asked for again where that may help."""
        return self._send(lambda: Request("GET", *request())).body

    @cached_property
    def _patience(self) -> Patience:
        return Patience(self.access.attempts, self.access.timeout_seconds)

    @cached_property
    def _web(self) -> urllib3.PoolManager:
        ca_file = self.cloud.ca_file
        if ca_file:
            try:
                Path(ca_file).open("rb").close()
            except OSError as error:
                raise UsageError(f"the certificates in {ca_file} cannot be read: {error.strerror}") from error
        return web_pool(self.cloud.service, ca_file, self.access.concurrency)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.access.concurrency, "reading")

    def _failure(self, path: str, error: StoreError) -> SourceError:
        detail = str(error).splitlines()[0][:300]
        sentence = _SENTENCES.get(error.kind, "the store failed" if path else "listing failed")
        return SourceError(self.uri(path), _REASONS.get(error.kind, "failed"), f"{sentence} ({detail})")
