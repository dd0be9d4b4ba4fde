"""The export of real topics: what a real client got comes out with the same bytes, and a rerun changes nothing."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from pulsar_backlog.wire.rows import as_time
from tests.auditing import DATA, EXPECTED, OBJECTS, Audited, data_object, rows_of, run_one, version_of

NEEDS_SPARK = True

EXPORT = DATA / "export"
KEYS = EXPORT / "keys"
JOBS = ("inventory_ledgers", "scan_entries", "assemble_chunks")

Key = tuple[int, int, int]


def run_export(source: Path, out: Path, **options: Any) -> Audited:
    from tests.auditing import run_job_of

    return run_job_of("export", "export_messages", source, out, **options)


@pytest.fixture(scope="module")
def audited(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The export's objects and those of the demo backlog's ledgers whose truth matters here, with their tables."""
    folder = tmp_path_factory.mktemp("objects")
    for path in [*(EXPORT / "objects").iterdir(), *OBJECTS.iterdir()]:
        shutil.copy(path, folder)
    out = tmp_path_factory.mktemp("tables")
    for job in JOBS:
        run_one(job, folder, out, cluster="demo")
    return folder, out


@pytest.fixture(scope="module")
def exported(audited: tuple[Path, Path]) -> dict[Key, dict[str, Any]]:
    folder, out = audited
    first = run_export(folder, out, cluster="demo", private_keys=KEYS, inline_limit_bytes=20_000)
    assert first.exit_code == 1, first.stderr  # payloads that do not decode are findings
    version = version_of(out, "messages")
    assert run_export(folder, out, cluster="demo", private_keys=KEYS, inline_limit_bytes=20_000).exit_code == 99
    assert version_of(out, "messages") == version
    return {(row["ledger_id"], row["entry_id"], row["batch_index"]): row for row in rows_of(out, "messages")}


def truth() -> list[dict[str, Any]]:
    """What clients got, of both backlogs, in one shape."""
    rows = [json.loads(line) for line in (EXPORT / "expected" / "truth.jsonl").read_text().splitlines()]
    for path in sorted((EXPECTED / "truth").iterdir()):
        if "compacted" in path.name:
            continue
        for line in path.read_text().splitlines():
            row = json.loads(line)
            place = row["id"] if isinstance(row.get("id"), dict) else row
            if "l" in place:
                rows.append(row | {"l": place["l"], "e": place["e"], "b": place.get("b", -1), "client": path.name})
    return rows


NEVER_SENT = {
    (27, 3): "a mixture of two messages",
    (7, 7): "the second copy of a message, exported once",
    **{(ledger, 3): "padded or cut to a size that lies" for ledger in (580, 582, 585, 586, 588, 589)},
    (258, 0): "a message that begins in a ledger that is left out",
    (4, 0): "chunks with a batch count: Python gives two empty messages",
    (4, 1): "the same",
}
"""What clients gave out that is no message anyone sent, or that is not here as a whole."""


def test_whatever_a_client_got_whole_is_exported_with_the_same_bytes(exported: dict[Key, dict[str, Any]]) -> None:
    compared = 0
    ledgers = {key[0] for key in exported}
    for row in truth():
        if row["l"] not in ledgers or (row["l"], row["e"]) in NEVER_SENT:
            continue
        key = (row["l"], row["e"], row["b"])
        # Go calls a bare message member 0.
        message = exported.get(key) or exported[row["l"], row["e"], -1]
        assert message["payload_bytes"] == row["size"], key
        assert message["publish_time_ms"] == row["pt"]
        if row["size"]:
            assert message["payload_sha256"] == row["sha256"], key
        if "props" in row:
            assert (message["properties"] or {}) == row["props"]
        for name, column in (("seq", "sequence_id"), ("index", "index")):
            if row.get(name) is not None:
                assert message[column] == row[name], (key, name)
        compared += 1
    assert compared > 1400


def test_every_payload_has_the_hash_it_is_said_to_have(
    exported: dict[Key, dict[str, Any]], audited: tuple[Path, Path]
) -> None:
    files = 0
    for row in exported.values():
        if row["payload_file"] is not None:
            data = (audited[1] / row["payload_file"]).read_bytes()
            files += 1
        elif row["payload"] is not None:
            data = row["payload"]
            assert len(data) <= 20_000
        else:
            assert row["null_value"] or not row["verified"]
            continue
        assert (len(data), hashlib.sha256(data).hexdigest()) == (row["payload_bytes"], row["payload_sha256"])
    assert files > 20
    assert not list((audited[1] / "payloads").glob(".unfinished-*"))


def test_what_clients_lose_is_exported_too(exported: dict[Key, dict[str, Any]]) -> None:
    sent = [json.loads(line) for line in (EXPECTED / "sent" / "sent-broken.jsonl").read_text().splitlines()]
    hashes = {row["full_sha"] for row in sent if "full_sha" in row}
    lost = [row for row in exported.values() if row["state"] == "out_of_order"]
    assert len(lost) == 3
    assert all(row["verified"] and row["payload_sha256"] in hashes for row in lost)


def test_every_row_names_the_entries_it_was_made_of(
    exported: dict[Key, dict[str, Any]], audited: tuple[Path, Path]
) -> None:
    entries = {(e["ledger_id"], e["entry_id"]): e for e in rows_of(audited[1], "entries")}
    for key, row in exported.items():
        for place in row["positions"]:
            entry = entries[place["ledger_id"], place["entry_id"]]
            start = entry["offset"] + entry["payload_offset"]
            assert (place["uri"], place["offset"], place["length"]) == (entry["uri"], start, entry["payload_length"])
        assert (row["positions"][-1]["ledger_id"], row["positions"][-1]["entry_id"]) == key[:2]
        assert len(row["positions"]) == (row["num_chunks"] or 1)


def test_only_what_agrees_is_verified(exported: dict[Key, dict[str, Any]]) -> None:
    doubtful = {key[0] for key, row in exported.items() if not row["verified"]}
    # lying totals and sizes, garbage, chunks with a batch count, an entry without checksum
    assert doubtful == {3, 4, 6, 13, 19, 79, 578, 580, 581, 582, 585, 586, 587, 588, 589}
    assert all(row["reason"] for row in exported.values() if not row["verified"])
    assert all(row["reason"] == "" for row in exported.values() if row["verified"])


def test_open_and_aborted_transactions_are_hidden_unless_asked_for(
    exported: dict[Key, dict[str, Any]], audited: tuple[Path, Path], tmp_path: Path
) -> None:
    sent = {row["e"]: row for row in json.loads((EXPORT / "expected" / "sent-txn-4.0.8.json").read_text())}
    shown = {key[1]: row for key, row in exported.items() if key[0] == 37}
    assert {e: row["payload_sha256"] for e, row in shown.items()} == {
        e: row["sha256"] for e, row in sent.items() if row["out"] in ("none", "commit")
    }
    folder, out = audited
    run_export(folder, out, cluster="demo", topic=("*/txn",), transactions="all", to=tmp_path)
    every = rows_of(tmp_path, "messages")
    names = {"none": None, "commit": "committed", "abort": "aborted", "open": "open"}
    assert {row["entry_id"]: row["transaction"] for row in every} == {e: names[row["out"]] for e, row in sent.items()}


def test_without_keys_rows_say_so_and_where_the_ciphertext_lies(audited: tuple[Path, Path], tmp_path: Path) -> None:
    folder, out = audited
    done = run_export(folder, out, cluster="demo", topic=("*/enc-*",), to=tmp_path)
    rows = rows_of(tmp_path, "messages")
    assert {row["outcome"] for row in rows} == {"no_key"}
    assert {tuple(row["encryption_key_names"] or ()) for row in rows} >= {("labkey",)}
    data = data_object(folder, 58)
    (batch, *_) = [row for row in rows if row["ledger_id"] == 58]
    (place,) = batch["positions"]
    assert place["uri"] == data.name
    assert (batch["batch_index"], batch["payload_bytes"], batch["verified"]) == (-1, None, False)
    assert batch["batch_size"] > 1
    assert done.exit_code == 0  # a missing key is a warning
    assert {"X02"} <= set(done.codes())


def test_files_hold_every_payload_and_lines_all_metadata(audited: tuple[Path, Path], tmp_path: Path) -> None:
    folder, out = audited
    options = {"cluster": "demo", "topic": ("*/batch-zlib", "*/schema-string"), "to": tmp_path, "format": "files"}
    assert run_export(folder, out, **options).exit_code == 0
    lines = [
        json.loads(line)
        for path in sorted((tmp_path / "messages.jsonl").glob("part-*"))
        for line in path.read_text().splitlines()
    ]
    wanted = {(row["l"], row["e"], row["b"]): row["sha256"] for row in truth() if row["l"] in (42, 48)}
    assert {(r["ledger_id"], r["entry_id"], r["batch_index"]): r["payload_sha256"] for r in lines} == wanted
    assert all(
        hashlib.sha256((tmp_path / row["payload_file"]).read_bytes()).hexdigest() == row["payload_sha256"]
        for row in lines
        if not row["null_value"]
    )
    assert {row["schema_version"] is None for row in lines if row["ledger_id"] == 48} == {False}
    assert run_export(folder, out, **options).exit_code == 99


def in_python(row: dict[str, Any], **wanted: Any) -> bool:
    """Whether a message is one of those asked for; the filters once more, without Spark."""
    given = {
        "topic": row["topic"].rsplit("/", 1)[1], "producer": row["producer_name"], "key": row["partition_key"],
        "state": row["state"],
    }  # fmt: skip
    if not all(given[name] in wanted[name] for name in given if name in wanted):
        return False
    # Rows of what could not be opened have no time; none of them is of the times asked for here.
    time = row["publish_time"].isoformat() if row["publish_time"] else ""
    return wanted.get("since", time) <= time < wanted.get("until", "9")


@pytest.mark.parametrize(
    ("form", "wanted", "least"),
    [
        ("parquet", {"topic": ("brk-out-of-order", "brk-meta-lies"), "state": ("whole", "out_of_order")}, 5),
        ("parquet", {"since": "2026-11-21T10:58:20+00:00", "until": "2026-11-21T10:58:28+00:00"}, 50),
        ("files", {"key": ("k1", "key-1")}, 10),
        ("files", {"state": ("out_of_order", "malformed"), "producer": ("raw4", "raw2nmib")}, 3),
        ("parquet", {"producer": ("nobody",)}, 0),
    ],
)
def test_every_form_holds_what_the_table_holds_of_what_was_asked_for(
    exported: dict[Key, dict[str, Any]], audited: tuple[Path, Path], tmp_path: Path,
    form: str, wanted: dict[str, Any], least: int,
) -> None:  # fmt: skip
    folder, out = audited
    options = wanted | {"topic": tuple(f"*/{name}" for name in wanted["topic"])} if "topic" in wanted else wanted
    usual = {"cluster": "demo", "private_keys": KEYS, "inline_limit_bytes": 20_000}
    done = run_export(folder, out, **usual, **options, to=tmp_path, format=form)
    if form == "parquet":
        rows = parquet.read_table(tmp_path / "messages.parquet").to_pylist(maps_as_pydicts="strict")
    else:
        parts = sorted((tmp_path / "messages.jsonl").glob("part-*"))
        rows = [json.loads(line) for part in parts for line in part.read_text().splitlines()]
    held = {(row["ledger_id"], row["entry_id"], row["batch_index"]): row for row in rows}
    asked = {key: row for key, row in exported.items() if in_python(row, **wanted)}
    assert held.keys() == asked.keys()
    assert len(held) == len(rows) >= least
    for key, row in held.items():
        same = ("topic", "state", "verified", "reason", "payload_sha256", "properties", "positions", "sequence_id")
        assert {name: row[name] for name in same} == {name: asked[key][name] for name in same}
        if form == "parquet":
            assert row == asked[key]
        elif row["payload_bytes"]:
            data = (tmp_path / row["payload_file"]).read_bytes()
            assert hashlib.sha256(data).hexdigest() == row["payload_sha256"]
    said = json.loads(done.stdout)
    assert (said["messages"], said["verified"]) == (len(rows), sum(row["verified"] for row in rows))


def test_filters_leave_only_what_was_asked_for(audited: tuple[Path, Path], tmp_path: Path) -> None:
    folder, out = audited
    run_export(folder, out, cluster="demo", key=("k1",), state=("whole", "batch"), to=tmp_path)
    rows = rows_of(tmp_path, "messages")
    opened = [row for row in rows if row["payload_bytes"] is not None]
    assert {row["partition_key"] for row in opened} == {"k1"}
    assert {row["state"] for row in rows} == {"whole", "batch"}
    # What is in a batch that no key opens, nobody knows.
    shut = [row for row in rows if row["payload_bytes"] is None]
    assert {(row["state"], row["outcome"]) for row in shut} >= {("batch", "no_key")}
    others = [row["entry_id"] for row in rows if not row["topic"].endswith("py-batch-lz4")]
    run_export(folder, out, cluster="demo", topic=("*/py-batch-lz4",), producer=("nobody",), to=tmp_path)
    # Another topic's export leaves the rows of the others alone, and replaces its own: with none here.
    assert [row["entry_id"] for row in rows_of(tmp_path, "messages")] == others
    assert 0 < len(others) < len(rows)


def test_damage_after_the_scan_is_noticed(audited: tuple[Path, Path], tmp_path: Path) -> None:
    folder, out = audited
    copied = tmp_path / "objects"
    shutil.copytree(folder, copied)
    path = data_object(copied, 40)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    data_object(copied, 48).write_bytes(b"")
    data_object(copied, 181).unlink()
    topics = ("*/batch-lz4", "*/schema-string", "*/py-chunk-snappy")
    done = run_export(copied, out, cluster="demo", topic=topics, to=tmp_path / "messages")
    rows = rows_of(tmp_path / "messages", "messages")
    assert {row["outcome"] for row in rows if row["ledger_id"] == 40} == {"exported", "corrupt"}
    assert {row["outcome"] for row in rows if row["ledger_id"] in (48, 181)} == {"unreadable"}
    chunked = [row for row in rows if row["num_chunks"] and row["outcome"] == "unreadable"]
    assert chunked
    assert {row["publish_time"] for row in chunked} == {as_time(row["publish_time_ms"]) for row in chunked}
    assert done.exit_code == 4
    assert {"X06", "X07"} <= set(done.codes())
