"""Listings that go to files, and what is known of ledgers in few bytes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from pulsar_backlog.ledgers import folder as folders
from pulsar_backlog.ledgers import spill
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.sorted_ids import LedgerIds, LedgerTopics
from pulsar_backlog.ledgers.spill import numbered, read_spilled, spilled_ledgers, strays
from pulsar_backlog.ledgers.store import open_source
from tests.ledgers.encoding import OTHER_UUID, UUID


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for place in ("", "again/"):
        for ledger_id in (3, 1, 2):
            for part in ("", "-index"):
                path = tmp_path / "objects" / f"{place}{UUID}-ledger-{ledger_id}{part}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"x" * ledger_id)
    crc = tmp_path / "objects" / f"1-{OTHER_UUID}" / ".data.crc"
    crc.parent.mkdir()
    crc.write_bytes(b"")
    return tmp_path / "objects"


@pytest.mark.parametrize(("held", "rows"), [(1, 1), (5, 2), (12, 100)])
def test_spilled_objects_are_the_listed_ones(
    held: int, rows: int, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spill, "MAX_HELD_OBJECTS", held)
    monkeypatch.setattr(spill, "FILE_ROWS", rows)
    opened = open_source(str(source))
    whole = take_listing(opened)
    (tmp_path / "spill").mkdir()
    listing = take_listing(opened, tmp_path / "spill")
    assert (listing.pairs, listing.spilled, listing.digest) == ([], 13, whole.digest)
    assert whole.spilled == 0
    found = list(spilled_ledgers(read_spilled(tmp_path / "spill").sort_by("ledger_id").to_pylist()))
    assert [pair for _, attempts in found for pair in numbered(attempts)] == whole.pairs
    assert len({pair.copy for pair in whole.pairs}) == 2
    assert [one.path for _, attempts in found for one in strays(attempts)] == whole.foreign.examples


def test_as_many_as_may_be_held_are(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "MAX_HELD_OBJECTS", 14)
    listing = take_listing(open_source(str(source)), tmp_path)
    assert (len(listing.pairs), listing.spilled) == (6, 0)


def test_a_folder_of_more_names_than_are_sorted_is_listed_whole(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(open_source(str(source)).list())
    monkeypatch.setattr(folders, "SORTED_NAMES", 2)
    assert sorted(open_source(str(source)).list(), key=lambda one: one.path) == sorted(whole, key=lambda one: one.path)


def test_ids_and_topics() -> None:
    ids = LedgerIds(pa.chunked_array([[7, 3], [2**62]], pa.int64()))
    assert [one in ids for one in (3, 7, 2**62, 4, -1, 2**70, None, "3")] == [True] * 3 + [False] * 5
    topics = LedgerTopics(pa.table({"ledger_id": [7, 3, 5], "topic": ["b", "a", None]}))
    assert dict(topics) == {3: "a", 7: "b"}
    assert topics.get(5) is None
    assert len(LedgerTopics(pa.table({"ledger_id": pa.array([], pa.int64()), "topic": pa.array([], pa.string())}))) == 0
