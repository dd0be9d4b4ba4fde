"""A listing taken side by side: every key once, however keys are spread and whatever a store can do."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.ledgers.buckets.cloud import Listed, Page, Question
from pulsar_backlog.ledgers.buckets.patience import StoreError
from pulsar_backlog.ledgers.buckets.sweep import FOLDERS_PER_READER, middle, sweep
from tests.examples import examples

KEYS = st.text(st.sampled_from("09afAZ-/ ~é\U0001f600"), min_size=1, max_size=6)


class Store:
    """Lists keys as stores do: in the order of UTF-8, page by page, with tokens that tell nothing."""

    def __init__(self, keys: list[str], page_keys: int, begins_behind: bool = True) -> None:
        self.keys = sorted(keys, key=str.encode)
        self.page_keys = page_keys
        self.begins_behind = begins_behind
        self.asked = 0
        self.at_once = 0
        self.most_at_once = 0
        self.seconds = 0.0
        self._lock = threading.Lock()

    def ask(self, question: Question) -> Page:
        with self._lock:
            self.asked += 1
            self.at_once += 1
            self.most_at_once = max(self.at_once, self.most_at_once)
        time.sleep(self.seconds)
        try:
            return self._page(question)
        finally:
            with self._lock:
                self.at_once -= 1

    def _page(self, question: Question) -> Page:
        keys = [key for key in self.keys if key.startswith(question.prefix)]
        if question.by_folder:
            under = len(question.prefix)
            names = dict.fromkeys(question.prefix + _level(key[under:]) for key in keys)
            keys = list(names)
        if question.token:
            keys = keys[int(question.token) :]
            skipped = int(question.token)
        else:
            skipped = 0
            if question.after and self.begins_behind:
                skipped = sum(key.encode() <= question.after.encode() for key in keys)
                keys = keys[skipped:]
        page, rest = keys[: self.page_keys], keys[self.page_keys :]
        token = str(skipped + len(page)) if rest else None
        is_folder = [question.by_folder and key.endswith("/") for key in page]
        objects = [Listed(key, 1, None) for key, folder in zip(page, is_folder, strict=True) if not folder]
        return Page(objects, token, [key for key, folder in zip(page, is_folder, strict=True) if folder])


def _level(rest: str) -> str:
    name, slash, _ = rest.partition("/")
    return name + slash


def swept(store: Store, prefix: str = "", skips: bool = True, readers: int = 4) -> Counter[str]:
    found: Counter[str] = Counter()
    for page in sweep(store.ask, prefix, skips, readers):
        assert not isinstance(page, StoreError)
        found.update(listed.key for listed in page)
    return found


@examples(60)
@given(st.sets(KEYS, max_size=40), st.integers(1, 7), st.booleans(), st.sampled_from(["", "a/", "0"]))
def test_every_key_once(keys: set[str], page_keys: int, begins_behind: bool, prefix: str) -> None:
    store = Store(list(keys), page_keys, begins_behind)
    assert swept(store, prefix) == Counter(key for key in keys if key.startswith(prefix))


@examples(40)
@given(st.sets(KEYS, max_size=40), st.integers(1, 50), st.integers(1, 4))
def test_every_key_once_where_a_listing_begins_at_the_front(keys: set[str], page_keys: int, readers: int) -> None:
    # A key that ends with a slash looks like a folder where one asks for folders; it is one, or a mark of one.
    plain = [key for key in keys if not key.endswith("/")]
    assert swept(Store(plain, page_keys), skips=False, readers=readers) == Counter(plain)


@given(st.text(st.characters(codec="utf-8"), max_size=5), st.text(st.characters(codec="utf-8"), max_size=5))
def test_the_middle_lies_between(one: str, other: str) -> None:
    low, high = sorted((one, other), key=str.encode)
    for bound in (high if low != high else None, None):
        found = middle(low, bound)
        if found is not None:
            assert low.encode() < found.encode()
            assert bound is None or found.encode() < bound.encode()


def test_a_flat_bucket_is_listed_side_by_side() -> None:
    keys = [f"{uuid.UUID(int=n * 0x9E3779B97F4A7C15F39CC0605CEDC834 % 2**128)}-ledger-{n}" for n in range(20_000)]
    store = Store(keys, 100)
    store.seconds = 0.005
    assert swept(store, readers=8) == Counter(keys)
    assert store.most_at_once >= 4
    assert store.asked < 200 * 1.5  # little is asked in vain


def test_the_key_at_which_a_span_is_cut() -> None:
    printable = [chr(code) for code in range(0x20, 0x7F)]
    keys = [*printable, *(one + other for one in printable for other in printable)]  # wherever it is cut is a key
    assert swept(Store(keys, 50), readers=8) == Counter(keys)


def test_folders_are_listed_side_by_side_where_a_listing_begins_at_the_front() -> None:
    keys = [f"topic-{t}/{n:05}" for t in range(8) for n in range(300)]
    store = Store(keys, 100)
    store.seconds = 0.005
    assert swept(store, skips=False, readers=8) == Counter(keys)
    assert store.most_at_once >= 4  # a busy machine may begin some later
    many = [f"{n}/data" for n in range(FOLDERS_PER_READER * 8 + 1)]
    store = Store(many, 100)
    assert swept(store, skips=False, readers=8) == Counter(many)
    assert store.asked == 2  # not one for each folder


def test_what_cannot_be_listed_hides_no_more_than_itself() -> None:
    keys = [f"{n:04}" for n in range(1000)]
    store = Store(keys, 10)

    def ask(question: Question) -> Page:
        page = store.ask(question)
        if any(listed.key == "0500" for listed in page.objects):
            raise StoreError("denied", "not this one")
        return page

    pages = list(sweep(ask, "", True, 4))
    found = [listed.key for page in pages if not isinstance(page, StoreError) for listed in page]
    assert {page.kind for page in pages if isinstance(page, StoreError)} == {"denied"}
    assert set(keys[:490]) <= set(found) <= set(keys) - {"0500"}


def test_a_token_that_repeats_ends_the_listing() -> None:
    def ask(question: Question) -> Page:
        return Page([Listed("a", 1, None)], "again", [])

    pages = list(sweep(ask, "", True, 2))
    assert [str(page) for page in pages if isinstance(page, StoreError)] == ["the listing does not go on"]


def test_a_mistake_in_a_reader_is_raised() -> None:
    calls = itertools.count()

    def ask(question: Question) -> Page:
        if next(calls):
            raise ZeroDivisionError
        return Page([Listed("a", 1, None)], "more", [])

    with pytest.raises(ZeroDivisionError):
        list(sweep(ask, "", True, 2))


def test_who_stops_taking_ends_the_readers() -> None:
    store = Store([f"{n:05}" for n in range(20_000)], 10)
    before = threading.active_count()
    pages = sweep(store.ask, "", True, 4)
    for _ in range(3):
        next(pages)
    time.sleep(0.3)
    asked = store.asked
    assert asked < 30  # pages wait for who takes them: memory is bounded
    pages.close()
    assert threading.active_count() == before
    assert store.asked <= asked + 4
