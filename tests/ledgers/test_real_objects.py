"""Objects that real brokers offloaded: our entries are those BookKeeper held, to the byte."""

import hashlib
import json
import pickle
from pathlib import Path

import pytest

from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.values import UNIT_BYTES
from tests.ledgers.sources import see

DATA = Path(__file__).parents[1] / "data"
BACKLOG = DATA / "backlog"
BROKER_4_2_4 = DATA / "ledgers" / "broker-4.2.4"


# Whole units at once; and windows smaller than a block, with every block a unit of its own.
@pytest.mark.parametrize(("window_bytes", "unit_bytes"), [(UNIT_BYTES, UNIT_BYTES), (70_000, 1)])
def test_every_entry_of_the_backlog(window_bytes: int, unit_bytes: int) -> None:
    seen = see(BACKLOG / "objects", window_bytes, unit_bytes)
    truths = {int(path.stem): json.loads(path.read_text()) for path in BACKLOG.glob("expected/entries/*.json")}
    assert set(seen.entries) == set(truths)
    for ledger_id, truth in truths.items():
        got = [
            {"entry_id": entry_id, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
            for entry_id, body in seen.entries[ledger_id]
        ]
        assert got == truth["entries"], ledger_id
        assert seen.faults[ledger_id] == []


def test_inventory_of_the_backlog() -> None:
    topics = {
        ledger["ledger_id"]: topic["topic"]
        for topic in json.loads((BACKLOG / "expected/topics.json").read_text())["topics"]
        for ledger in topic["ledgers"]
    }
    inventory = take_inventory(open_source(str(BACKLOG / "objects")))
    assert inventory.findings == []
    for copy in inventory.copies:
        truth = json.loads((BACKLOG / f"expected/entries/{copy.ledger_id}.json").read_text())
        assert (copy.selected, copy.status, copy.faults, copy.ledger_state) == (True, "ok", (), "CLOSED")
        assert copy.topic == topics[copy.ledger_id]
        assert copy.expected_entries == truth["last_confirmed"] + 1
        assert copy.expected_bytes == sum(entry["bytes"] for entry in truth["entries"])
        assert copy.expected_data_bytes == copy.data_bytes
    [two_blocks] = [copy for copy in inventory.copies if copy.ledger_id == 258]
    assert [block.offset for block in two_blocks.blocks] == [0, 5 * 1024 * 1024]
    assert pickle.loads(pickle.dumps(inventory.copies)) == inventory.copies


def test_another_broker_version() -> None:
    seen = see(BROKER_4_2_4 / "objects")
    truth = json.loads((BROKER_4_2_4 / "expected/ledger-37.json").read_text())["entries"]
    got = [[i, len(body), hashlib.sha256(body).hexdigest()] for i, body in seen.entries[37]]
    assert got[: len(truth)] == [entry[:3] for entry in truth]
    assert len(got) == len(truth) + 1  # the dump was taken before the last entry was confirmed
    assert seen.faults[37] == []
    assert seen.copy(37).topic == "persistent://lab/s3/txn"
