"""Each cloud's bucket is listed and read as a folder is, and a server that fails costs time, never data."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.ledgers import store as places
from pulsar_backlog.ledgers.buckets import azure, gcs, s3
from pulsar_backlog.ledgers.buckets.access import DEFAULT_ACCESS, Access
from pulsar_backlog.ledgers.buckets.addresses import bucket_of
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.store import Source, open_source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.walk import walk_unit
from tests.ledgers.faulty import FAULTS, FaultyProxy
from tests.stores.servers import Store

BODY = os.urandom(100_000)
MARKS = {"ManagedLedgerName": "tenant/space/persistent/topic"}
ODD = ("two words", "ü", "50%", "a%2Fb", "+&?#", "a=b;c")
NOT_FOR_PATHS = ("a//b", "../up", "./x")
"""Keys that no path can be made of, in a bucket that others use too."""
EVERY = dict.fromkeys(FAULTS, 3) | {"stall": 8, "dribble": 8}
"""Which answer has the fault when ledgers are read: each third, but for those that are waited for."""


@pytest.fixture
def source(store: Store, name: str) -> Source:
    store.fill(name, {f"pre/sub/{key}": (BODY, MARKS) for key in ("object", *ODD)} | {"pre/empty": (b"", MARKS)})
    return open_source(store.source(name, "pre"), store.endpoint)


def test_list_and_read(source: Source) -> None:
    assert sorted((found.path, found.size) for found in source.list()) == sorted(
        [("empty", 0), *((f"sub/{key}", len(BODY)) for key in ("object", *ODD))]
    )
    assert all(found.etag for found in source.list())
    for key in ("object", *ODD):
        assert source.read(f"sub/{key}", 10, 99_990).tobytes() == BODY[10:99_990]
        fetched = source.fetch(f"sub/{key}", len(BODY))
        assert fetched.data == BODY
        assert fetched.user_metadata["managedledgername"] == MARKS["ManagedLedgerName"]
        assert source.user_metadata(f"sub/{key}")["managedledgername"] == MARKS["ManagedLedgerName"]


@pytest.mark.parametrize(("start", "end"), [(0, 10), (99_999, 100_001), (100_000, 100_010), (2**40, 2**40 + 9), (5, 5)])
def test_ranges(source: Source, start: int, end: int) -> None:
    assert source.read("sub/object", start, end).tobytes() == BODY[start:end]
    assert source.read("empty", start, end).tobytes() == b""
    assert source.fetch("empty", 10).data == b""


def test_ranges_beyond_one_request(source: Source) -> None:
    small = replace(source, access=Access(range_bytes=7_000, concurrency=3))
    assert small.read("sub/object", 0, 10**6).tobytes() == BODY
    assert small.read("sub/object", 6_999, 70_001).tobytes() == BODY[6_999:70_001]


def test_a_source_travels(source: Source) -> None:
    list(source.list())
    pickled = pickle.dumps(source)
    assert not [value for value in os.environ.values() if len(value) > 20 and value.encode() in pickled]
    assert pickle.loads(pickled).read("sub/object", 0, 1).tobytes() == BODY[:1]


def test_no_such_object(source: Source) -> None:
    with pytest.raises(SourceError) as caught:
        source.read("nothing", 0, 1)
    assert caught.value.reason == "not_found"
    with pytest.raises(SourceError, match="more than the 99999 bytes"):
        source.fetch("sub/object", 99_999)


def test_no_such_bucket(store: Store) -> None:
    with pytest.raises(UsageError, match=r"there is no (bucket|container) 'never-made'"):
        take_inventory(open_source(store.source("never-made"), store.endpoint))


def test_odd_keys_of_others_hide_nothing(store: Store, name: str) -> None:
    keys = [key for key in NOT_FOR_PATHS if store.kind == "gcs" or ".." not in key]  # the other servers refuse it
    store.fill(name, {key: (b"?", {}) for key in [*keys, "zzz"]})
    listed = {found.path for found in open_source(store.source(name), store.endpoint).list()}
    normalized = {"a//b": "a/b", "./x": "x", "../up": "up"}  # as s3proxy keeps them
    assert listed == {"zzz", *keys} or listed == {"zzz", *(normalized[key] for key in keys)}


@pytest.fixture
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    for cloud in (s3, gcs, azure):
        monkeypatch.setattr(cloud, "PAGE_OBJECTS", 20)


@pytest.mark.usefixtures("short_pages")
def test_many_pages(store: Store, name: str, proxy: FaultyProxy) -> None:
    keys = [f"{folder}/{number * 2654435761 % 2**32:08x}" for folder in ("a", "b") for number in range(200)]
    store.fill(name, {key: (b"", {}) for key in keys})
    listed = [found.path for found in open_source(store.source(name), proxy.endpoint).list()]
    assert sorted(listed) == sorted(keys)
    assert 20 <= len(proxy.asked) <= 60


@pytest.mark.usefixtures("short_pages", "impatient")
@pytest.mark.parametrize("fault", FAULTS)
def test_many_pages_of_a_server_that_fails(store: Store, name: str, proxy: FaultyProxy, fault: str) -> None:
    keys = [f"{number * 2654435761 % 2**32:08x}" for number in range(100)]
    store.fill(name, {key: (b"", {}) for key in keys})
    proxy.every(3, fault)
    source = open_source(store.source(name), proxy.endpoint, Access(timeout_seconds=8, concurrency=3))
    assert sorted(found.path for found in source.list()) == sorted(keys)
    assert proxy.faults[fault]


def test_a_refusal(store: Store, name: str, clean: pytest.MonkeyPatch) -> None:
    if not store.wrong:
        assert store.kind == "gcs"  # its server asks for no credentials
        return
    store.fill(name, {"object": (BODY, {})})
    for variable, value in store.wrong.items():
        clean.setenv(variable, value)
    places._opened.cache_clear()
    source = open_source(store.source(name), store.endpoint)
    for ask in (lambda: list(source.list()), lambda: source.read("object", 0, 1)):
        with pytest.raises(SourceError) as caught:
            ask()
        assert caught.value.reason == "permission_denied"
        secrets = [value for variable, value in store.wrong.items() if variable.endswith("STORAGE_KEY")]
        assert not [value for value in secrets if value in str(caught.value)]


Seen = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]


def see(source: Source) -> Seen:
    """Copies and findings of the inventory, and every entry that a scan of the copies finds, without their places."""
    inventory = take_inventory(source)
    copies = [(c.ledger_id, c.copy, c.topic, c.status, c.faults, c.data_bytes, c.blocks) for c in inventory.copies]
    entries: list[tuple[Any, ...]] = [("finding", finding.code) for finding in inventory.findings]
    for copy in inventory.copies:
        for unit in units_of(copy):
            for batch in walk_unit(source, unit, 20_000):
                places = zip(batch.entry_id.tolist(), batch.offset.tolist(), batch.length.tolist(), strict=True)
                entries += [
                    (copy.ledger_id, entry_id, batch.base + at, batch.buffer[at : at + size].tobytes())
                    for entry_id, at, size in places
                ]
                entries += [(copy.ledger_id, fault) for fault in batch.faults]
    return copies, entries


@pytest.fixture(scope="session")
def undisturbed(folder: Path) -> Seen:
    seen = see(open_source(str(folder)))
    assert len(seen[1]) > 50
    return seen


Ledgers = dict[str, tuple[bytes, dict[str, str]]]


def test_the_same_entries_as_in_a_folder(store: Store, name: str, ledgers: Ledgers, undisturbed: Seen) -> None:
    store.fill(name, ledgers)
    assert see(open_source(store.source(name), store.endpoint)) == undisturbed


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", FAULTS)
def test_the_same_entries_of_a_server_that_fails(
    store: Store, name: str, proxy: FaultyProxy, ledgers: Ledgers, undisturbed: Seen, fault: str
) -> None:
    store.fill(name, ledgers)
    proxy.every(EVERY[fault], fault)
    access = Access(timeout_seconds=8, range_bytes=16_000, concurrency=4)
    assert see(open_source(store.source(name), proxy.endpoint, access)) == undisturbed
    assert proxy.faults[fault] >= 3


def test_results_are_written_and_removed(store: Store, name: str, tmp_path: Path) -> None:
    store.fill(name, {"other": (BODY, {})})
    results = bucket_of(store.source(name, "eu 1"), store.endpoint, DEFAULT_ACCESS, writes=True)
    large = tmp_path / "large"
    large.write_bytes(BODY * 130)  # more than one part
    results.put("report.html", b"one")
    results.put("report.html", BODY)
    results.put("payloads/ab/abc", large)
    assert sorted((found.path, found.size) for found in results.list(print)) == [
        ("payloads/ab/abc", 130 * len(BODY)), ("report.html", len(BODY)),
    ]  # fmt: skip
    assert results.fetch("payloads/ab/abc", 10**9).data == BODY * 130
    for _ in range(2):  # it may be gone already
        results.remove("report.html")
    assert [found.path for found in results.list(print)] == ["payloads/ab/abc"]


def test_of_those_who_take_a_name_at_once_one_has_it(store: Store, name: str) -> None:
    """So are tables committed to."""
    store.fill(name, {"other": (BODY, {})})
    log = bucket_of(store.source(name, "eu 1"), store.endpoint, DEFAULT_ACCESS, writes=True)
    for number in range(10):
        together = Barrier(4)

        def take(writer: int, path: str = f"{number:020}.json", start: Barrier = together) -> bytes | None:
            start.wait(30)
            return str(writer).encode() if log.put_new(path, str(writer).encode()) else None

        with ThreadPoolExecutor(4) as pool:
            won = [body for body in pool.map(take, range(4)) if body]
        assert won == [log.fetch(f"{number:020}.json", 9).data]
        assert not log.put_new(f"{number:020}.json", b"later")
        assert log.put_new(f"{number:020}.json", won[0])  # asked again after an answer that was lost
