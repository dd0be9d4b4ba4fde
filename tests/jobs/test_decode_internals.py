"""Internal ledgers of a real bookie through the job: a row for each, damage counted, nothing done twice."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from pulsar_backlog.command_line import app
from tests.auditing import DATA, rows_of, run_one, version_of

NEEDS_SPARK = True

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BOOKIE = DATA / "bookies" / "source"
STORE = DATA / "internals" / "admin-4.2.4"
HERE = {1, 2, 4, 7, 8, 12, 13, 14, 16, 17, 19, 20, 22, 24, 26, 27, 38, 39, 40}
"""Internal ledgers in the files of the bookie."""
ONLY_KNOWN = {0, 3, 6, 21}
"""Those that only the metadata store tells of: open, and nothing was ever written to them."""


def decoded(source: Path, out: Path, **options: Any) -> dict[int, dict[str, Any]]:
    """Rows of `internal_ledgers` by ledger, after inventory and decoding."""
    assert run_one("inventory_ledgers", source, out, **options).exit_code in (0, 1)
    assert run_one("decode_internals", source, out, **options).exit_code in (0, 1, 4)
    return {row["ledger_id"]: row for row in rows_of(out, "internal_ledgers")}


def test_with_the_metadata_store(spark: SparkSession, tmp_path: Path) -> None:
    rows = decoded(BOOKIE, tmp_path, admin=STORE)
    assert set(rows) == HERE | ONLY_KNOWN
    kinds = {kind: {i for i, row in rows.items() if row["kind"] == kind} for kind in {r["kind"] for r in rows.values()}}
    assert kinds == {
        "schema": {1, 4, 7, 8, 22, 26, 27}, "transaction_log": {2}, "compacted": {39}, "transaction_snapshot": {6, 24},
        "topic_policies": {0, 3, 21}, "cursor": {12, 13, 14, 16, 17, 19, 20, 38, 40},
    }  # fmt: skip
    assert all(rows[i]["verdict"] == "ok" and rows[i]["unread_entries"] == 0 for i in HERE)
    assert {i for i in HERE if not rows[i]["holders"]} == {8, 27}  # schemas that were stored twice at once
    assert {rows[i]["verdict"] for i in ONLY_KNOWN} == {"cannot_tell"}
    assert rows[13]["name"] == "persistent://lab/sub/subs-unbatched / keyshared/ü"
    assert rows[39]["holders"] == ["compaction of persistent://lab/s3/__transaction_buffer_snapshot"]
    before = version_of(tmp_path, "internal_ledgers")
    assert run_one("decode_internals", BOOKIE, tmp_path, admin=STORE).exit_code == 99
    assert version_of(tmp_path, "internal_ledgers") == before


def test_tables_of_kinds(spark: SparkSession, tmp_path: Path) -> None:
    decoded(BOOKIE, tmp_path, admin=STORE)
    schemas = rows_of(tmp_path, "schema_versions", "schema_id", "version", "ledger_id", "verdict", "is_current")
    assert [(row["ledger_id"], row["is_current"]) for row in schemas if row["schema_id"].startswith("lab/sub")] == [
        (4, True), (7, True), (8, False),
    ]  # fmt: skip
    (first, second) = rows_of(tmp_path, "transaction_snapshots")
    assert (first["is_current"], second["is_current"], second["aborted"]) == (False, True, ["0:1"])
    assert (second["about_topic"], second["read_up_to_ledger_id"]) == ("persistent://lab/s3/txn", 37)
    (compacted,) = rows_of(tmp_path, "compacted_ledgers")
    assert (compacted["horizon_ledger_id"], compacted["horizon_entry_id"], compacted["is_current"]) == (24, 0, True)
    states = [row for row in rows_of(tmp_path, "cursor_states") if row["ledger_id"] == 40]
    assert states[-1]["properties"] == {"CompactedTopicLedger": 39}
    ends = {row["txn"]: row["status"] for row in rows_of(tmp_path, "transaction_log") if row["status"]}
    assert ends == {"0:0": "committed", "0:1": "aborted", "0:2": "open"}
    assert all(DeltaTable(tmp_path / "tables" / name) for name in ("topic_policies", "pending_acks", "delayed_indexes"))


def test_without_saved_state(spark: SparkSession, tmp_path: Path) -> None:
    """The bytes say what each is; who needs it, nobody."""
    rows = decoded(BOOKIE, tmp_path)
    assert set(rows) == HERE
    assert {row["named_by"] for row in rows.values()} == {"bytes"}
    assert {row["verdict"] for i, row in rows.items() if i != 39} == {"cannot_tell"}
    assert rows[39]["holders"] == ["compaction, by cursor ledger 40"]


def test_damage_costs_an_entry(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "bookie"
    shutil.copytree(BOOKIE, source)
    for name in ("0.log", "1a1fd97a234.txn"):
        log = source / "current" / name
        data = bytearray(log.read_bytes())
        at = data.index(b"persistent://lab/s3/txn", data.index(b"\x08\x01\x10\x00\x18\x00"))
        data[at + 5] ^= 0x40
        log.write_bytes(bytes(data))
    rows = decoded(source, tmp_path / "out", admin=STORE)
    log_row = rows[2]
    assert (log_row["entries"], log_row["unread_entries"], log_row["verdict"]) == (10, 1, "cannot_tell")
    assert len({row["entry_id"] for row in rows_of(tmp_path / "out", "transaction_log")}) == 9
    codes = {row["code"] for row in rows_of(tmp_path / "out", "findings") if row["job"] == "decode_internals"}
    assert codes == {"S62"}


def test_a_schema_that_is_gone(spark: SparkSession, tmp_path: Path) -> None:
    """Its locator points to a ledger that BookKeeper does not know; another that it keeps has no pointer."""
    store = json.loads((STORE / "metadata-store.json").read_text())
    store["/ledgers/00/0000/L0008"] = {**store["/ledgers/00/0000/L0007"], "mtime": 1}
    del store["/ledgers/00/0000/L0004"]
    admin = tmp_path / "admin"
    admin.mkdir()
    (admin / "metadata-store.json").write_text(json.dumps(store))
    rows = decoded(BOOKIE, tmp_path / "out", admin=admin)
    assert (rows[4]["verdict"], rows[8]["verdict"]) == ("lost", "leaked")
    found = {
        row["code"]: row["severity"] for row in rows_of(tmp_path / "out", "findings") if "S60" <= row["code"] < "S70"
    }
    assert found == {"S60": "error", "S61": "info"}
    answer = CliRunner().invoke(app, ["internals", str(tmp_path / "out"), "--verdict", "lost"])
    assert answer.exit_code == 0
    (line,) = [json.loads(one) for one in answer.stdout.splitlines()]
    assert (line["ledger_id"], line["kind"], line["name"]) == (4, "schema", "lab/sub/__change_events")


def test_messages_whose_schema_is_gone(spark: SparkSession, tmp_path: Path) -> None:
    """What the internal ledgers say is held against the log: no finding on a sound cluster."""
    store = json.loads((STORE / "metadata-store.json").read_text())
    admin = tmp_path / "admin"
    admin.mkdir()
    (admin / "metadata-store.json").write_text(json.dumps(store))
    out = tmp_path / "out"
    assert run_one("inventory_ledgers", BOOKIE, out, admin=admin).exit_code in (0, 1)
    assert run_one("scan_entries", BOOKIE, out, admin=admin).exit_code in (0, 1, 4)
    run_one("decode_internals", BOOKIE, out, admin=admin)
    assert _codes(out) == set()
    for ledger in ("L0001", "L0004", "L0007", "L0022", "L0026"):
        del store[f"/ledgers/00/0000/{ledger}"]
    (admin / "metadata-store.json").write_text(json.dumps(store))
    assert run_one("inventory_ledgers", BOOKIE, out, admin=admin).exit_code in (0, 1)
    run_one("decode_internals", BOOKIE, out, admin=admin)
    assert _codes(out) == {"S60", "S63"}
    (finding,) = [row for row in rows_of(out, "findings") if row["code"] == "S63"]
    assert (finding["topic"], finding["sureness"]) == ("persistent://lab/s3/__transaction_buffer_snapshot", "certain")


def test_confirmed_and_cut_off(spark: SparkSession, tmp_path: Path) -> None:
    """Ledger 9 of a real bookie, whose end the topic's list gives as if recovery had cut ten entries off."""
    store = json.loads((STORE / "metadata-store.json").read_text())
    topic = store["/managed-ledgers/lab/sub/persistent/subs-unbatched"]
    sixty, fifty = b"\x08\x09\x10\x3c", b"\x08\x09\x10\x32"
    value = base64.b64decode(topic["b64"])
    assert value.count(sixty) == 1
    topic["b64"] = base64.b64encode(value.replace(sixty, fifty)).decode()
    admin = tmp_path / "admin"
    admin.mkdir()
    (admin / "metadata-store.json").write_text(json.dumps(store))
    out = tmp_path / "out"
    for job in ("inventory_ledgers", "scan_entries", "decode_internals"):
        assert run_one(job, BOOKIE, out, admin=admin).exit_code in (0, 1, 4)
    rows = rows_of(out, "cut_off_entries")
    assert [row["entry_id"] for row in rows] == list(range(50, 60))
    assert {row["ledger_id"] for row in rows} == {9}
    log = {row["entry_id"]: row for row in rows_of(out, "entries", "ledger_id", "entry_id") if row["ledger_id"] == 9}
    assert max(log) == 49
    grades = [row["grade"] for row in rows]
    assert grades == ["certain"] * grades.count("certain") + ["likely"] * grades.count("likely")
    assert grades.count("certain") and grades[-1] == "likely"  # of the last nothing later tells; one bookie is a quorum
    data = (BOOKIE / rows[0]["uri"]).read_bytes()
    entry = data[rows[0]["offset"] : rows[0]["offset"] + rows[0]["length"]]
    expected = json.loads((DATA / "bookies" / "expected" / "ledger-9.json").read_text())["entries"][50]
    assert (len(entry), hashlib.sha256(entry).hexdigest()) == (expected[1], expected[2])
    assert [row["sequence_id"] for row in rows] == sorted(row["sequence_id"] for row in rows)
    assert "S69" in _codes(out)
    (finding,) = [row for row in rows_of(out, "findings") if row["code"] == "S69"]
    assert (finding["count"], finding["ledger_id"], finding["entry_id"]) == (10, 9, 50)


def _codes(out: Path) -> set[str]:
    return {row["code"] for row in rows_of(out, "findings") if row["job"] == "decode_internals"}


@pytest.mark.parametrize("option", ["--kind", "--verdict"])
def test_no_such_kind(spark: SparkSession, tmp_path: Path, option: str) -> None:
    answer = CliRunner().invoke(app, ["internals", str(tmp_path), option, "nonsense"])
    assert answer.exit_code != 0 and option in str(answer.exception)
