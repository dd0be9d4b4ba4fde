"""MapFiles that a real broker offloaded: our entries are those BookKeeper held, to the byte, wherever they are cut."""

import hashlib
import json
import pickle
from pathlib import Path

import pytest

from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.mapfile.index import decode_index
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.values import UNIT_BYTES
from tests.ledgers.sources import see

DATA = Path(__file__).parents[2] / "data" / "mapfiles"
TRUTHS = {int(path.stem): json.loads(path.read_text()) for path in (DATA / "expected" / "entries").glob("*.json")}


# Whole units at once; and windows smaller than a block.
@pytest.mark.parametrize("window_bytes", [UNIT_BYTES, 70_000])
def test_every_entry(window_bytes: int) -> None:
    seen = see(DATA / "source", window_bytes)
    assert set(seen.entries) == set(TRUTHS) == {31, 71, 72, 85, 186, 194, 261, 266}
    for ledger_id, truth in TRUTHS.items():
        got = [
            {"entry_id": entry_id, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
            for entry_id, body in seen.entries[ledger_id]
        ]
        assert got == truth["entries"], ledger_id
        assert seen.faults[ledger_id] == []


def test_inventory() -> None:
    inventory = take_inventory(open_source(str(DATA / "source")))
    assert inventory.findings == []
    for copy in inventory.copies:
        truth = TRUTHS[copy.ledger_id]
        assert (copy.kind, copy.selected, copy.status, copy.faults) == ("filesystem", True, "ok", ())
        assert copy.managed_ledger == truth["custom"]["pulsar/managed-ledger"]
        assert copy.topic == "persistent://" + copy.managed_ledger.replace("/persistent/", "/")
        assert copy.expected_entries == truth["last_confirmed"] + 1 == len(truth["entries"])
        assert copy.expected_bytes == sum(entry["bytes"] for entry in truth["entries"])
        assert copy.ledger_state == "CLOSED"
        assert copy.checksum_uri == copy.data_uri.removesuffix("data") + ".data.crc"
    assert pickle.loads(pickle.dumps(inventory.copies)) == inventory.copies


def test_the_index_of_three_blocks() -> None:
    (path,) = (DATA / "source").glob("lab/fs/persistent/map-many/261-*/index")
    index = decode_index(path.read_bytes())
    assert (index.keys.tolist(), index.positions.tolist()) == ([-1, 143, 285], [138, 223572, 446696])
    assert not index.is_cut
