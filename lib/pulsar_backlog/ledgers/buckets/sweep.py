"""A listing as a stream of pages, taken by many readers side by side.

A store lists keys in the order of UTF-8, and most begin behind any key. So what is not listed yet is cut in two
whenever a reader is idle, again and again; nothing must be known of how keys are spread. Where a listing begins at the
front only (Azure), the folders under the prefix are listed side by side. No more pages wait than there are readers,
however many objects there are.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from queue import Full, Queue, SimpleQueue
from threading import Lock

from pulsar_backlog.ledgers.buckets.cloud import Listed, Page, Question
from pulsar_backlog.ledgers.buckets.patience import StoreError

FOLDERS_PER_READER = 4
"""More folders than that are not listed each by itself: a request for each would be more than pages of all."""

EMPTY_PAGES = 1000
"""Pages without a new object, one after the other, that a store may give: of what was deleted, say."""

_LOW, _HIGH = 0x1F, 0x7F
"""Just outside the printable ASCII that keys are nearly always made of."""

Ask = Callable[[Question], Page]
PageOrEnd = list[Listed] | StoreError


@dataclass(frozen=True)
class Span:
    """Keys with a prefix, behind `after` and up to `end`; None is the last."""

    prefix: str
    after: str = ""
    end: str | None = None

    def holds(self, key: str) -> bool:
        """Whether a key with the prefix is one of them."""
        return key > self.after and (self.end is None or key <= self.end)


def sweep(ask: Ask, prefix: str, skips: bool, readers: int) -> Generator[PageOrEnd, None, None]:
    """All objects under a prefix, once each, page by page as they come; an error stands for what it hid.

    Args:
        ask: gives a page of the listing, or raises `StoreError`.
        prefix: what all keys begin with; empty or ending at a slash.
        skips: whether a listing can begin behind any key.
        readers: pages asked for at once.
    """
    try:
        first = ask(Question(prefix, by_folder=not skips))
    except StoreError as error:
        yield error
        return
    if skips and first.token and first.objects:
        spans = [Span(prefix, first.objects[-1].key)]
    elif first.token or len(first.folders) > FOLDERS_PER_READER * readers:
        first, spans = Page([], None, []), [Span(prefix)]  # from the front again, with what lies in folders
    else:
        spans = [Span(folder) for folder in first.folders]
    yield first.objects
    if spans:
        with closing(_Sweep(ask, skips, readers).pages(spans)) as pages:
            yield from pages


class _Sweep:
    """Readers that share what is left to list."""

    def __init__(self, ask: Ask, skips: bool, readers: int) -> None:
        self._ask = ask
        self._skips = skips
        self._readers = readers
        self._todo: SimpleQueue[Span | None] = SimpleQueue()
        self._found: Queue[PageOrEnd | BaseException | None] = Queue(readers)
        self._lock = Lock()
        self._unfinished = 0
        self._idle = 0
        self._stopped = False

    def pages(self, spans: list[Span]) -> Generator[PageOrEnd, None, None]:
        for span in spans:
            self._add(span)
        with ThreadPoolExecutor(self._readers, "listing") as pool:
            try:
                for _ in range(self._readers):
                    pool.submit(self._read)
                while (page := self._found.get()) is not None:
                    if isinstance(page, BaseException) and not isinstance(page, StoreError):
                        raise page
                    yield page
            finally:
                self._stopped = True
                for _ in range(self._readers):
                    self._todo.put(None)

    def _add(self, span: Span) -> None:
        with self._lock:
            self._unfinished += 1
        self._todo.put(span)

    def _read(self) -> None:
        """One reader: takes spans until nothing is left."""
        while True:
            with self._lock:
                self._idle += 1
            span = self._todo.get()
            with self._lock:
                self._idle -= 1
            if span is None:
                return
            try:
                self._list(span)
            except BaseException as error:
                self._give(error)  # raised where pages are taken
            with self._lock:
                self._unfinished -= 1
            if not self._unfinished:
                self._give(None)

    def _list(self, span: Span) -> None:
        """List a span to its end, or to where another reader takes over."""
        token: str | None = None
        progress = _Progress(self._skips)
        while not self._stopped:
            page = self._ask(Question(span.prefix, span.after, token))
            self._give([listed for listed in page.objects if span.holds(listed.key)])
            last = page.objects[-1].key if page.objects else span.after
            if page.token is None or (span.end is not None and last > span.end):
                return
            if page.token == token or not progress.goes_on(page):
                raise StoreError("failed", "the listing does not go on")
            token = page.token
            if self._skips and span.holds(last) and self._idle > self._todo.qsize():
                span = self._shared(span, last)

    def _shared(self, span: Span, last: str) -> Span:
        """What is left of a span after half of it, behind its last known key, was given to another reader."""
        cut = middle(last, span.end)
        if cut is None or not cut.startswith(span.prefix):
            return span
        self._add(Span(span.prefix, cut, span.end))
        return replace(span, end=cut)

    def _give(self, page: PageOrEnd | BaseException | None) -> None:
        """Hand on what was found, as soon as there is room; nobody takes it any more once all is stopped."""
        while not self._stopped and page != []:
            try:
                return self._found.put(page, timeout=0.1)
            except Full:
                continue


class _Progress:
    """Whether pages that always name a next one bring anything new."""

    def __init__(self, is_sorted: bool) -> None:
        self._last = ""
        self._is_sorted = is_sorted
        self._ends: set[int] = set()
        self._empty = 0

    def goes_on(self, page: Page) -> bool:
        last, before = page.objects[-1].key if page.objects else self._last, self._last
        if last == before:
            self._empty += 1
            return self._empty < EMPTY_PAGES
        self._empty, self._last = 0, last
        if self._is_sorted:
            return last > before
        is_new = hash(last) not in self._ends
        self._ends.add(hash(last))
        return is_new


def middle(low: str, high: str | None) -> str | None:
    """A key between two, or behind one, that has about as many possible keys on both sides; None where it is hard."""
    shared = 0
    while high is not None and shared < min(len(low), len(high)) and low[shared] == high[shared]:
        shared += 1
    bound = ord(high[shared]) if high is not None and shared < len(high) else _HIGH
    for at in range(shared, len(low) + 1):
        code = ord(low[at]) if at < len(low) else _LOW
        if bound - code > 1:
            half = (code + bound) // 2
            return None if 0xD800 <= half <= 0xDFFF else low[:at] + chr(half)
        bound = _HIGH  # behind the same character anything may come
    return None
