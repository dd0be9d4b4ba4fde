"""Schemas from the files of a bookie: those of a real broker, by locators of the metadata store and without them."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest

import pulsar_backlog
from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.survey import survey
from pulsar_backlog.schemas.values import SchemaInfo
from pulsar_backlog.steps.stored_schemas import planned_copies, stored_versions
from tests.auditing import DATA
from tests.ledgers.bookies.encoding import entry_log, put_log, record
from tests.wire.encode import number, run

BOOKIE = DATA / "bookies" / "source"
STORE = DATA / "internals" / "admin-4.2.4"
SNAPSHOTS = "persistent://lab/s3/__transaction_buffer_snapshot"
NAME = b"shop/eu/orders-%C3%BC"
TOPIC = "persistent://shop/eu/orders-ü"


def versions_in(folder: Path, admin: Path | None, topic: str) -> dict[int, SchemaInfo]:
    source = open_source(str(folder))
    internal = planned_copies(survey(source, take_listing(source)).internal)
    return stored_versions(source, internal, None if admin is None else str(admin), topic)


def test_messages_of_a_real_broker_are_decoded_by_its_schema_ledgers() -> None:
    backlog = pulsar_backlog.open(str(BOOKIE), admin=str(STORE))
    rows = backlog.messages(SNAPSHOTS, decode=True, columns=["value", "decode_error"]).read_all().to_pylist()
    assert [row["decode_error"] for row in rows] == [None, None]
    assert {row["value"]["topicName"] for row in rows} == {"persistent://lab/s3/txn"}
    assert [len(row["value"]["aborts"]) for row in rows] == [0, 1]


def test_without_the_metadata_store_the_entries_tell() -> None:
    assert versions_in(BOOKIE, None, SNAPSHOTS) == versions_in(BOOKIE, STORE, SNAPSHOTS) != {}


def test_what_nothing_here_holds_is_not_known(tmp_path: Path) -> None:
    saved = json.loads((STORE / "metadata-store.json").read_text())
    assert f"/schemas/{SNAPSHOTS.partition('://')[2]}" in saved
    assert versions_in(DATA / "backlog" / "objects", STORE, SNAPSHOTS) == {}
    shutil.copytree(STORE, tmp_path / "admin")
    path = tmp_path / "admin" / "metadata-store.json"
    saved[f"/schemas/{SNAPSHOTS.partition('://')[2]}"] = base64.b64encode(b"\xff").decode()
    path.write_text(json.dumps(saved))
    assert versions_in(BOOKIE, tmp_path / "admin", SNAPSHOTS) == {}  # a locator that says nothing is no guess
    with pytest.raises(UsageError, match="no schema of"):
        pulsar_backlog.open(str(BOOKIE), admin=str(tmp_path / "admin")).messages(SNAPSHOTS, decode=True)


def stored(definition: bytes, version: int, *, deleted: bool = False, name: bytes = NAME) -> bytes:
    """An entry of a schema ledger as a broker writes it: it knows the versions before its own."""
    pair = run(7, run(1, b"k") + run(2, b"v"))
    info = run(1, name) + run(2, b"") + number(3, 5) + run(4, definition) + number(5, 1) + number(6, deleted) + pair
    index = b""
    for earlier in range(max(version, 1)):
        ledger_id, entry_id = (100 + earlier, 0) if version else (-1, -1)
        index += run(5, number(1, earlier) + run(2, number(1, ledger_id) + number(2, entry_id)) + run(3, b"hash"))
    return run(2, info) + index


def bookie(folder: Path, entries: list[bytes]) -> Path:
    """Files of a bookie with a ledger for each entry."""
    records = [record(100 + at, 0, data, length=len(data)) for at, data in enumerate(entries)]
    put_log(folder, entry_log(records, [(100 + at, len(one)) for at, one in enumerate(records)]))
    return folder


def test_versions_of_entries_that_no_locator_names(tmp_path: Path) -> None:
    first, second, other = b'"string"', b'"long"', b'"int"'
    others = stored(other, 2, name=b"shop/eu/others")
    found = versions_in(bookie(tmp_path / "a", [stored(first, 0), stored(second, 1), others]), None, TOPIC)
    assert found == {0: SchemaInfo("AVRO", first, {"k": "v"}), 1: SchemaInfo("AVRO", second, {"k": "v"})}
    deleted = bookie(tmp_path / "b", [stored(first, 0), stored(b"", 1, deleted=True)])
    assert set(versions_in(deleted, None, TOPIC)) == {0}
    twice = bookie(tmp_path / "c", [stored(first, 0), stored(second, 1), stored(second, 1)])
    assert set(versions_in(twice, None, TOPIC)) == {0, 1}
    contested = bookie(tmp_path / "d", [stored(first, 0), stored(second, 1), stored(other, 1)])
    assert set(versions_in(contested, None, TOPIC)) == {0}


def test_a_damaged_entry_is_no_schema(tmp_path: Path) -> None:
    folder = bookie(tmp_path, [stored(b'"string"', 0), stored(b'"long"', 1)])
    (log,) = folder.rglob("*.log")
    log.write_bytes(log.read_bytes().replace(b'"long"', b'"lang"'))
    assert set(versions_in(folder, None, TOPIC)) == {0}


def test_the_locator_decides(tmp_path: Path) -> None:
    """Two entries that brokers stored at once as the same version: one of them is in force."""
    source = bookie(tmp_path / "bookie", [stored(b'"string"', 0), stored(b'"long"', 1), stored(b'"int"', 1)])
    entries = [
        number(1, at) + run(2, number(1, ledger) + number(2, 0)) + run(3, b"") for at, ledger in ((0, 100), (1, 102))
    ]
    locator = run(1, entries[1]) + b"".join(run(2, one) for one in entries)
    saved = json.loads((STORE / "metadata-store.json").read_text())
    saved[f"/schemas/{NAME.decode()}"] = base64.b64encode(locator).decode()
    (tmp_path / "admin").mkdir()
    (tmp_path / "admin" / "metadata-store.json").write_text(json.dumps(saved))
    found = versions_in(source, tmp_path / "admin", TOPIC)
    assert {version: info.data for version, info in found.items()} == {0: b'"string"', 1: b'"int"'}
