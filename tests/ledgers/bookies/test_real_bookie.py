"""What a real bookie left behind after kill -9, against what BookKeeper's client and Pulsar's offloader made of it."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from pulsar_backlog.cluster.values import LedgerRecord
from pulsar_backlog.explain import explain_entry
from pulsar_backlog.ledgers.entry_batch import Place
from pulsar_backlog.ledgers.inventory import ClusterRecords, settle, take_inventory
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.places import BlockOpener
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.survey import survey
from tests.ledgers.sources import Seen, see
from tests.scanning.scans import scanned

DATA = Path(__file__).parents[2] / "data" / "bookies"
SOURCE = DATA / "source"
OF_TOPICS = {5: 60, 9: 60, 10: 60, 11: 20, 15: 10, 18: 32, 23: 8, 24: 2, 25: 7, 28: 14, 29: 16, 30: 14, 31: 19, 32: 5,
             33: 18, 34: 2, 35: 41, 36: 5, 37: 14}  # fmt: skip
"""Ledgers that hold messages, and how many entries the bookie has of each."""


@pytest.fixture(scope="module")
def seen() -> Seen:
    return see(SOURCE)


def test_every_entry_is_the_one_that_bookkeeper_gave(seen: Seen) -> None:
    for path in sorted((DATA / "expected").iterdir()):
        told = json.loads(path.read_text())
        ours = dict(seen.entries[told["ledgerId"]])
        confirmed = {one[0]: (one[1], one[2]) for one in told["entries"]}
        given = {i: (len(body), hashlib.sha256(body).hexdigest()) for i, body in ours.items() if i in confirmed}
        assert given == confirmed
        # Its client stops at the last confirmed entry; the entry log goes on.
        assert sorted(ours) == list(range(len(ours)))
        assert len(ours) - len(confirmed) == (0 if told["closed"] else 4 if told["ledgerId"] == 18 else 1)


def test_all_ledgers_of_topics_and_no_others(seen: Seen) -> None:
    assert {ledger: len(entries) for ledger, entries in seen.entries.items()} == OF_TOPICS
    assert {fault.code for faults in seen.faults.values() for fault in faults} == set()
    assert {(copy.kind, copy.ledger_state) for copy in seen.inventory.copies} == {("bookies", "OPEN")}
    codes = seen.codes()
    assert {code for code in codes if code != "S18"} == {"S26", "S27"}
    (others,) = (finding for finding in seen.inventory.findings if finding.code == "S26")
    assert others.count == 18  # cursors and schemas
    (behind,) = (finding for finding in seen.inventory.findings if finding.code == "S27")
    assert behind.evidence == ("ledger 15: confirmed to -1, stored to 9", "ledger 18: confirmed to 27, stored to 31")


def test_the_same_ledgers_offloaded_give_equal_entries_but_for_location() -> None:
    ours, rejects, _ = scanned(open_source(str(SOURCE)))
    theirs, _, _ = scanned(open_source(str(DATA / "offloaded")))
    location = {"uri", "offset", "topic"}  # and no file of a bookie names the topic
    assert set(theirs) == {31, 37}
    assert rejects == []
    opener = BlockOpener(open_source(str(SOURCE)))
    their_opener = BlockOpener(open_source(str(DATA / "offloaded")))
    for ledger, rows in theirs.items():
        assert len(rows) == OF_TOPICS[ledger]
        for mine, other in zip(ours[ledger], rows, strict=True):
            assert {k: v for k, v in mine.items() if k not in location} == {
                k: v for k, v in other.items() if k not in location
            }
            assert mine["uri"] == "current/0.log"
            places = [Place(row["uri"], row["offset"], row["length"]) for row in (mine, other)]
            assert opener.read(places[0]).tobytes() == their_opener.read(places[1]).tobytes()


def test_the_journal_alone_gives_the_same(seen: Seen, tmp_path: Path) -> None:
    current = tmp_path / "bookie" / "current"
    current.mkdir(parents=True)
    shutil.copy(SOURCE / "current" / "1a1fd97a234.txn", current)
    alone = see(tmp_path)
    assert alone.entries == seen.entries
    assert {code for code in alone.codes() if code != "S18"} == {"S26", "S27"}


def test_an_entry_that_only_the_journal_has(seen: Seen, tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "bookie")
    log = tmp_path / "bookie" / "current" / "0.log"
    log.write_bytes(log.read_bytes()[:200_000])  # as it was before a flush
    both = see(tmp_path)
    assert both.entries == seen.entries
    assert {Path(block.uri or "").suffix for copy in both.inventory.copies for block in copy.blocks} == {".log", ".txn"}
    (cut,) = (finding for finding in both.inventory.findings if finding.code == "S25")
    assert "1 stretch is neither record nor padding" in cut.message


def test_a_glob_names_bookies(seen: Seen, tmp_path: Path) -> None:
    for name in ("bookie-1", "bookie-2", "other"):
        shutil.copytree(SOURCE, tmp_path / name)
    both = take_inventory(open_source(f"bookies://{tmp_path}/bookie-*"))
    assert {block.uri for copy in both.copies for block in copy.blocks} == {
        "bookie-1/current/0.log", "bookie-2/current/0.log",
    }  # fmt: skip
    one = take_inventory(open_source(f"bookies://{tmp_path}/other"))
    assert {block.uri for copy in one.copies for block in copy.blocks} == {"current/0.log"}


def test_what_the_broker_says_of_a_closed_ledger_is_its_promise() -> None:
    source = open_source(str(SOURCE))
    broker = {5: LedgerRecord(5, "persistent://lab/sub/subs-unbatched", None, False, 61, 9000, None)}
    inventory = settle(survey(source, take_listing(source)), ClusterRecords({}, broker))
    (copy,) = (copy for copy in inventory.copies if copy.ledger_id == 5)
    assert (copy.topic, copy.expected_entries, copy.expected_bytes) == (broker[5].topic, 61, 9000)
    assert copy.ledger_state == "CLOSED"


def test_explain_finds_an_entry(seen: Seen) -> None:
    model = explain_entry(f"bookies://{SOURCE}", None, "11:19", True)
    assert (model.place.path, model.length) == ("current/0.log", 152)
