"""`export --decode` of topics that the Java client wrote: a table for each topic, masked where asked for, run twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyarrow import parquet

from pulsar_backlog.steps.decoded_export import NEEDED
from tests.auditing import DATA, Audited, rows_of, run_job_of, run_one

NEEDS_SPARK = True

TYPED = DATA / "typed"
BOOKIE = DATA / "bookies" / "source"
STORE = DATA / "internals" / "admin-4.2.4"
SNAPSHOTS = "persistent://lab/s3/__transaction_buffer_snapshot"
CLIENT = [json.loads(line) for line in (TYPED / "messages.jsonl").read_text().splitlines()]


def run_export(out: Path, **options: Any) -> Audited:
    return run_job_of("export", "export_messages", TYPED / "objects", out, cluster="demo", **options)


@pytest.fixture(scope="module")
def audited(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tables")
    for job in ("inventory_ledgers", "scan_entries", "assemble_chunks"):
        run_one(job, TYPED / "objects", out, cluster="demo")
    return out


def values(topic: str) -> list[Any]:
    return [one["value"] for one in CLIENT if one["topic"] == topic]


def decoded(place: Path, topic: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = DeltaTable(place / "decoded" / f"lab__typed__{topic}").to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda row: (row["ledger_id"], row["entry_id"], row.get("batch_index", 0)))


def test_a_table_for_each_topic(audited: Path, tmp_path: Path) -> None:
    first = run_export(audited, to=tmp_path, decode="schema", schemas=TYPED)
    assert first.exit_code == 0, first.stderr
    names = ("avro", "json", "kvseparated", "protobufnative", "string")
    assert {path.name for path in (tmp_path / "decoded").iterdir()} == {f"lab__typed__{name}" for name in names}
    assert not (tmp_path / "tables" / "messages").exists()
    rows = decoded(tmp_path, "avro")
    wanted = ("id", "count", "note", "currency")
    assert [row["value"] for row in rows] == [{name: one.get(name) for name in wanted} for one in values("avro")]
    # What was decoded stands once; all else is as in the table `messages`.
    assert {(row["payload"], row["decode_error"], row["verified"]) for row in rows} == {(None, None, True)}
    assert [row["key"] for row in decoded(tmp_path, "kvseparated")] == [one["key"] for one in values("kvseparated")]
    again = run_export(audited, to=tmp_path, decode="schema", schemas=TYPED)
    assert again.exit_code == 99, again.stderr
    assert DeltaTable(tmp_path / "decoded" / "lab__typed__avro").version() == 0


def test_masks_and_columns(audited: Path, tmp_path: Path) -> None:
    """By the command, in a process of its own: tasks read the key from their environment."""
    words = [
        "--decode",
        "schema",
        "--schemas",
        str(TYPED),
        "--topic",
        "*/json",
        "--format",
        "parquet",
        "--to",
        str(tmp_path),
    ]
    words += ["--columns", "value", "--columns", "producer_name"]
    words += ["--mask", "value.note=hash", "--mask", "producer_name=redact", "--cluster", "demo"]
    command = [sys.executable, "-m", "pulsar_backlog.cli", "export", str(audited), *words]
    key = {"PULSAR_BACKLOG_MASK_KEY": "a key of many characters"}
    done = subprocess.run(command, env={**os.environ, **key}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert key["PULSAR_BACKLOG_MASK_KEY"] not in done.stdout + done.stderr
    rows = parquet.read_table(tmp_path / "decoded" / "lab__typed__json").to_pylist()
    assert list(rows[0]) == ["value", "producer_name", *NEEDED]
    assert {row["producer_name"] for row in rows} == {"***"}
    assert {len(row["value"]["note"] or "x" * 64) for row in rows} == {64}
    assert {(row["verified"], row["reason"]) for row in rows} == {(False, "masked")}
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"note 1" not in written
    assert b"java-json" not in written


def test_masked_messages_without_decoding(audited: Path, tmp_path: Path) -> None:
    done = run_export(audited, to=tmp_path, topic="*/string", mask=["payload=null"])
    assert done.exit_code == 0, done.stderr
    rows = rows_of(tmp_path, "messages")
    assert {(row["payload"], row["payload_sha256"], row["verified"]) for row in rows} == {(None, None, False)}
    assert len(rows) == 3


def test_payloads_that_do_not_decode_stay(audited: Path, tmp_path: Path) -> None:
    assert run_export(audited, to=tmp_path, topic="*/string", decode="json").exit_code == 0
    rows = decoded(tmp_path, "string")
    assert [row["payload"] for row in rows] == [b"text", b"", "ü€😀".encode()]
    assert {row["value"] for row in rows} == {None}
    assert all(row["decode_error"] for row in rows)


@pytest.fixture(scope="module")
def audited_bookie(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bookie")
    for job in ("inventory_ledgers", "scan_entries", "assemble_chunks"):
        run_one(job, BOOKIE, out, cluster="demo", admin=STORE)
    return out


@pytest.mark.parametrize("schemas", [None, STORE], ids=["as the entries tell", "by the metadata store"])
def test_schemas_come_from_the_files_of_bookies(audited_bookie: Path, tmp_path: Path, schemas: Path | None) -> None:
    options = {"to": tmp_path, "topic": SNAPSHOTS, "decode": "schema", "cluster": "demo"}
    given = options if schemas is None else {**options, "schemas": schemas}
    done = run_job_of("export", "export_messages", BOOKIE, audited_bookie, **given)
    assert done.exit_code == 0, done.stderr
    (table,) = (tmp_path / "decoded").iterdir()
    rows = DeltaTable(table).to_pyarrow_table().to_pylist()
    assert {(row["value"]["topicName"], row["decode_error"]) for row in rows} == {("persistent://lab/s3/txn", None)}
    assert sorted(len(row["value"]["aborts"]) for row in rows) == [0, 1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"decode": "schema"}, "no schema of persistent://lab/typed/avro is known"),
        ({"decode": "schema", "schemas": TYPED, "columns": ["colour"]}, "has no column colour"),
        ({"columns": ["topic"]}, "--columns is for decoded messages"),
        ({"mask": ["payload=null"], "format": "files"}, "files hold payloads as they were sent"),
        ({"mask": ["value=null"]}, "no column value to be masked"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_read(
    audited: Path, tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    done = run_export(audited, to=tmp_path, **options)
    assert (done.exit_code, words in done.stderr) == (2, True), done.stderr
