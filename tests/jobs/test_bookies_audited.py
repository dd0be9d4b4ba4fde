"""Files of bookies through the jobs: tables, a second run, and what later steps make of ledgers in several files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulsar_backlog.explain import explain_entry
from pulsar_backlog.repair.applying.sealed_entries import Ledgers, read_stored
from pulsar_backlog.repair.values import AsStored, StoredEntry
from tests.auditing import DATA, rows_of, run_job_of, run_one, run_scan
from tests.ledgers.admin_files import save_admin
from tests.ledgers.bookies.encoding import entry_log, put_log, record
from tests.ledgers.sources import see

NEEDS_SPARK = True

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BOOKIE = DATA / "bookies" / "source"
EXPORT = DATA / "export"


def test_two_bookies(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("bookie-1", "bookie-2"):
        shutil.copytree(BOOKIE, tmp_path / name)
    log = tmp_path / "bookie-1" / "current" / "0.log"
    damaged = bytearray(log.read_bytes())
    at = 31610 - 4 - 150  # in the payload of the last entry of ledger 5
    damaged[at + 100] ^= 1
    log.write_bytes(bytes(damaged))
    source, out = f"bookies://{tmp_path}/bookie-*", tmp_path / "out"
    scanned = run_scan(source, out, ledger="5-9")
    assert scanned.exit_code in (0, 1)
    rows = rows_of(out, "entries", "ledger_id", "entry_id", "uri", "checksum_state")
    assert [(row["ledger_id"], row["entry_id"]) for row in rows] == [(i, n) for i in (5, 9) for n in range(60)]
    assert {row["checksum_state"] for row in rows} == {"valid"}
    assert [row["uri"] for row in rows if row["uri"] != "bookie-1/current/0.log"] == ["bookie-2/current/0.log"]
    (reject,) = rows_of(out, "rejects", "ledger_id", "code", "uri", "offset")
    assert (reject["ledger_id"], reject["code"], reject["uri"]) == (5, "digest_mismatch", "bookie-1/current/0.log")
    ledgers = rows_of(out, "ledgers", "ledger_id", "kind", "blocks")
    assert {row["kind"] for row in ledgers} == {"bookies"}
    assert {block["uri"] for row in ledgers for block in row["blocks"]} == {
        "bookie-1/current/0.log", "bookie-2/current/0.log",
    }  # fmt: skip
    again = run_scan(source, out, ledger="5-9")
    assert len(rows_of(out, "entries", "ledger_id")) == 120
    assert again.exit_code != 2
    assert run_one("assemble_chunks", source, out).exit_code in (0, 1, 3)
    # Nothing names their topic; the entries tell that it is one, and no table goes by that.
    (told,) = (row for row in rows_of(out, "findings") if row["code"] == "S35")
    assert (told["message"], told["sureness"]) == ("Ledgers 5, 9 are likely of one topic.", "likely")
    assert told["evidence"] == [
        "5 to 9: the index goes on at 60", "5 to 9: producer jsubs goes on at sequence id 60",
    ]  # fmt: skip
    assert {row["topic"] for row in rows_of(out, "entries", "topic", "ledger_id", "entry_id")} == {None}
    exported = run_job_of("export", "export_messages", source, out)
    assert exported.exit_code in (0, 1), exported.stderr
    messages = rows_of(out, "messages", "ledger_id", "verified", "positions")
    assert [row["verified"] for row in messages] == [True] * len(messages)
    assert {(row["ledger_id"], one["entry_id"]) for row in messages for one in row["positions"]} == {
        (i, n) for i in (5, 9) for n in range(60)
    }
    assert {one["uri"] for row in messages for one in row["positions"]} == {
        "bookie-1/current/0.log", "bookie-2/current/0.log",
    }  # fmt: skip


def striped(objects: Path, bookies: Path, admin: Path) -> None:
    """The ledgers of some objects as two bookies have them, each every other entry; and what a broker says of them."""
    bodies = see(objects).entries
    records: list[list[bytes]] = [[], []]
    for entry_id in range(max(map(len, bodies.values()))):  # ledgers lie between each other
        for ledger_id, entries in bodies.items():
            if entry_id < len(entries):
                records[entry_id % 2].append(record(ledger_id, *entries[entry_id]))
    for number, own in enumerate(records):
        put_log(bookies / f"bookie-{number}", entry_log(own))
    save_admin(objects, admin)


def without_places(rows: list[dict[str, Any]], column: str) -> list[dict[str, Any]]:
    kept = ("chunk_id", "ledger_id", "entry_id", "length")
    places = [[{name: one[name] for name in kept if name in one} for one in row[column]] for row in rows]
    return [row | {column: own} for row, own in zip(rows, places, strict=True)]


def test_messages_of_ledgers_striped_over_bookies_are_those_of_objects(spark: SparkSession, tmp_path: Path) -> None:
    """Chunks joined, decompressed, decrypted and exported, and republished as they are stored, from several files."""
    admin = tmp_path / "admin"
    striped(EXPORT / "objects", tmp_path / "bookies", admin)
    source = f"bookies://{tmp_path}/bookies/bookie-*"
    sources = {"objects": str(EXPORT / "objects"), "bookies": source}
    for name, of in sources.items():
        run_scan(of, tmp_path / name, admin=admin)
        run_one("assemble_chunks", of, tmp_path / name, admin=admin)
        done = run_job_of("export", "export_messages", of, tmp_path / name, private_keys=EXPORT / "keys")
        assert done.exit_code == 0, done.stderr
    ours, theirs = (
        {table: rows_of(tmp_path / name, table) for table in ("chunked_messages", "messages")} for name in sources
    )
    assert without_places(theirs["messages"], "positions") == without_places(ours["messages"], "positions")
    assert len(theirs["messages"]) > 100
    said = without_places(theirs["chunked_messages"], "manifest")
    assert said == without_places(ours["chunked_messages"], "manifest")
    assert {row["decode_state"] for row in said} == {"ok", "encrypted", "not_needed"}
    files = {one["uri"] for row in theirs["chunked_messages"] for one in row["manifest"]}
    assert files == {f"bookie-{number}/current/0.log" for number in (0, 1)}
    sealed = [row for row in rows_of(tmp_path / "bookies", "entries") if row["ledger_id"] == 57]
    names = ("uri", "offset", "length", "checksum", "inner_offset", "block_length")
    stored = [StoredEntry((57, row["entry_id"]), *(row[name] for name in names)) for row in sealed]
    found = read_stored(Ledgers(), AsStored(source, tuple(stored)))
    bodies = dict(see(EXPORT / "objects").entries[57])
    assert [one.payload for one in found] == [bodies[row["entry_id"]][row["payload_offset"] :] for row in sealed]


def test_explain_shows_an_entry_and_its_message_from_several_files(tmp_path: Path) -> None:
    striped(EXPORT / "objects", tmp_path / "bookies", tmp_path / "admin")
    for entry_id in (3, 4):
        shown = explain_entry(f"bookies://{tmp_path}/bookies/bookie-*", None, f"181:{entry_id}", False)
        theirs = explain_entry(str(EXPORT / "objects"), None, f"181:{entry_id}", False)
        assert shown.place.path == f"bookie-{entry_id % 2}/current/0.log"
        assert (shown.data, shown.publication, shown.checksum) == (theirs.data, theirs.publication, theirs.checksum)
        assert shown.publication is not None
