"""Objects of streaming offload through a whole audit, explain and export give what objects of each ledger give."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pulsar_backlog.explain import explain_entry
from pulsar_backlog.sql.duck import opened
from tests.auditing import DATA, Audited, rows_of, run_audit, run_job_of, run_one, run_scan
from tests.ledgers.admin_files import save_admin
from tests.ledgers.encoding import UUID
from tests.ledgers.sources import see
from tests.ledgers.streaming.encoding import closed, put_segment, segment

NEEDS_SPARK = True

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXPORT = DATA / "export"


def offloaded(folder: Path, block_bytes: int = 100_000) -> None:
    """The bundled ledgers as two offloads one after the other: segments of several ledgers, the second ones overlap."""
    bodies = {
        ledger_id: [body for _, body in entries] for ledger_id, entries in see(EXPORT / "objects").entries.items()
    }
    firsts = [closed(ledger_id, entries, 0, len(entries) // 2 + 1) for ledger_id, entries in bodies.items()]
    stretches = [*firsts, *(closed(ledger_id, entries, len(entries) // 2) for ledger_id, entries in bodies.items())]
    for number in range(0, len(stretches), 7):
        put_segment(folder, segment(stretches[number : number + 7], block_bytes), f"{UUID[:-2]}{number:02d}")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("streaming")
    offloaded(base / "objects")
    save_admin(EXPORT / "objects", base / "admin")
    return base


@pytest.fixture(scope="module")
def audited(spark: SparkSession, folders: Path) -> Audited:
    return run_audit(folders / "objects", folders / "out", admin=folders / "admin", fail_on="never")


def without_places(rows: list[dict[str, Any]], column: str) -> list[dict[str, Any]]:
    kept = ("chunk_id", "ledger_id", "entry_id", "length")
    places = [[{name: one[name] for name in kept if name in one} for one in row[column]] for row in rows]
    return [row | {column: own} for row, own in zip(rows, places, strict=True)]


def test_an_audit_and_an_export_of_them_are_those_of_objects(audited: Audited, folders: Path) -> None:
    assert audited.exit_code == 0, audited.stderr
    assert {row["kind"] for row in audited.rows("ledgers", "kind")} == {"streaming"}
    assert audited.rows("rejects") == []
    assert not {"S10", "S12", "S13", "S18", "S21"} & audited.codes().keys()
    plain = folders / "plain"
    run_scan(EXPORT / "objects", plain, admin=folders / "admin")
    run_one("assemble_chunks", EXPORT / "objects", plain, admin=folders / "admin")
    keys = {"private_keys": EXPORT / "keys"}
    for source, out in ((folders / "objects", audited.out), (EXPORT / "objects", plain)):
        done = run_job_of("export", "export_messages", source, out, **keys)
        assert done.exit_code == 0, done.stderr
    names = ("topic", "ledger_id", "entry_id", "checksum", "publish_time", "payload_offset", "length")
    assert rows_of(audited.out, "entries", *names) == rows_of(plain, "entries", *names)
    for table, column in (("messages", "positions"), ("chunked_messages", "manifest")):
        theirs, ours = (without_places(rows_of(out, table), column) for out in (audited.out, plain))
        assert theirs == ours
        assert len(ours) > 10


def test_the_inventory_counts_every_byte(audited: Audited, folders: Path) -> None:
    rows = audited.rows("inventory", "kind", "verdict", "bytes")
    assert {(row["kind"], row["verdict"]) for row in rows if row["bytes"]} == {("streaming", "undecided")}
    stored = sum(path.stat().st_size for path in (folders / "objects").iterdir())
    assert sum(row["bytes"] for row in rows) == stored


def test_explain_shows_an_entry_and_its_message(folders: Path) -> None:
    for entry_id in (3, 4):
        shown = explain_entry(str(folders / "objects"), None, f"181:{entry_id}", False)
        theirs = explain_entry(str(EXPORT / "objects"), None, f"181:{entry_id}", False)
        assert shown.place.path.startswith(UUID[:-2])
        assert (shown.data, shown.publication, shown.checksum) == (theirs.data, theirs.publication, theirs.checksum)
        assert shown.publication is not None


def test_each_layer_of_each_ledger_agrees(audited: Audited) -> None:
    query = "SELECT DISTINCT layer, verdict FROM integrity WHERE layer <> 'message'"
    with opened(str(audited.out), query) as connection:
        found = set(connection.execute(query).fetchall())
    assert found == {("index", "agrees"), ("container", "agrees"), ("record", "agrees")}
