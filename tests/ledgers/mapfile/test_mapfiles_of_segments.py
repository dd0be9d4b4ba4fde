"""MapFiles of a segment of a scalable topic, as a filesystem offloader of 5.0.0-M1 wrote them."""

from __future__ import annotations

import shutil
from pathlib import Path

from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.store import open_source
from tests.auditing import DATA

SEGMENT = "segment://acme/files/eu%2Fboard%20one/8000-ffff-2"
NAME = "acme/files/segment/eu%252Fboard%2520one/8000-ffff-2"


def test_the_ledger_metadata_name_the_segment() -> None:
    found = take_inventory(open_source(str(DATA / "pulsar5" / "mapfiles")))
    assert {(copy.ledger_id, copy.topic, copy.managed_ledger) for copy in found.copies} == {
        (id_, SEGMENT, NAME) for id_ in (53, 55, 57)
    }
    assert found.findings == []


def test_the_folders_name_it_where_the_data_cannot(tmp_path: Path) -> None:
    shutil.copytree(DATA / "pulsar5" / "mapfiles", tmp_path / "files")
    for data in (tmp_path / "files").rglob("data"):
        data.write_bytes(b"")
    copies = take_inventory(open_source(str(tmp_path / "files"))).copies
    assert {copy.topic for copy in copies} == {SEGMENT}
