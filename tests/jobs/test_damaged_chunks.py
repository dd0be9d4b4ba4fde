"""A flipped byte in a stored chunk, and a count that lies, through audit, export and plan: what could be had stays."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.jobfiles import load_job
from pulsar_backlog.repair.acked_entries import entries_of_runs
from pulsar_backlog.repair.values import Plan, read_plan
from tests.auditing import ADMIN, Audited, _heard, copy_ledgers, data_object, rows_of, run_audit, run_job_of
from tests.ledgers.encoding import offload
from tests.wire.encode import entry, number, run

NEEDS_SPARK = True

LOST = ("orphan_prefix", "headless", "gap")
PENDING, MISSING, GAPS = "brk-many-pending", "brk-missing", "brk4-permit-gap-last"
OFFLOAD = "0f8fad5b-d9cb-469f-a165-70867728950e"
LYING = "persistent://tenant/space/topic"


def lying_ledger(folder: Path) -> bytes:
    """Ledger 900: a message of three chunks that says it has four, and much later another one. Returns its payload."""
    payload = bytes(range(250)) * 10
    bodies = []
    for chunk in range(3):
        metadata = run(1, b"p") + number(2, 0) + number(3, 1_700_000_000_000) + number(9, len(payload))
        metadata += run(26, b"p-0") + number(27, 4) + number(28, len(payload)) + number(29, chunk)
        bodies.append(entry(metadata, payload[chunk * 1000 : (chunk + 1) * 1000]))
    bodies.append(entry(run(1, b"p") + number(2, 1) + number(3, 1_700_009_000_000)))
    made = offload(bodies)
    (folder / f"{OFFLOAD}-ledger-900").write_bytes(made.data)
    (folder / f"{OFFLOAD}-ledger-900-index").write_bytes(made.index)
    return payload


def flip_uuid(folder: Path, ledger_id: int, uuid: bytes, occurrence: int) -> None:
    """Flip a bit in the last letter of a uuid, in the n-th entry that has it."""
    path = data_object(folder, ledger_id)
    data = bytearray(path.read_bytes())
    at = -1
    for _ in range(occurrence + 1):
        at = data.index(b"\xd2\x01" + bytes([len(uuid)]) + uuid, at + 1)
    data[at + 2 + len(uuid)] ^= 1
    path.write_bytes(data)


@pytest.fixture(scope="module")
def sound(bundled: Audited) -> dict[str, list[dict[str, Any]]]:
    """Messages by topic before anything was damaged, in the order of the log."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(
        bundled.rows("chunked_messages"), key=lambda row: (row["first_ledger_id"], row["first_entry_id"])
    ):
        found.setdefault(row["topic"].rpartition("/")[2], []).append(row)
    return found


@pytest.fixture(scope="module")
def broken(sound: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The message of which the second chunk is damaged."""
    return next(row for row in sound[PENDING] if row["state"] == "whole" and row["num_chunks"] == 3)


@pytest.fixture(scope="module")
def source(broken: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    folder = copy_ledgers(tmp_path_factory.mktemp("damaged") / "objects", [20, 5, 691])
    flip_uuid(folder, 20, broken["chunk_uuid"].encode(), 1)
    path = data_object(folder, 5)
    data = bytearray(path.read_bytes())
    data[data.index(b"\x0e\x01")] ^= 0x80  # the first entry's checksum is no checksum any more: it cannot be decoded
    path.write_bytes(data)
    return folder, lying_ledger(folder)


@pytest.fixture(scope="module")
def audited(spark: SparkSession, source: tuple[Path, bytes], tmp_path_factory: pytest.TempPathFactory) -> Audited:
    out = tmp_path_factory.mktemp("audit")
    run = run_audit(source[0], out, admin=ADMIN, cluster="demo")
    assert run.exit_code in (1, 4), run.stderr
    export = run_job_of("export", "export_messages", source[0], out, cluster="demo", topic=["*"], fail_on="never")
    assert export.exit_code in (0, 4), export.stderr
    return run


@pytest.fixture(scope="module")
def plan(audited: Audited) -> Plan:
    argv = [f"--out={audited.out}", "--cluster=demo"]
    run = _heard(lambda: load_job("plan_repair").main(argv), {"out": str(audited.out), "source": ""})
    assert run.exit_code == 0, run.stderr
    return read_plan(Path(json.loads(run.stdout.splitlines()[0])["folder"]))


def of_topic(audited: Audited, table: str, name: str) -> list[dict[str, Any]]:
    return [row for row in audited.rows(table) if row["topic"].rpartition("/")[2] == name]


def acknowledged(plan: Plan, name: str) -> set[tuple[int, int]]:
    runs = [
        one
        for action in plan.actions
        if action.kind == "acknowledge" and action.topic.rpartition("/")[2] == name and action.cause == "dead_chunks"
        for one in action.runs
    ]
    return set(entries_of_runs(tuple(runs)).positions())


def test_the_message_whose_chunk_was_damaged_is_not_lost_for_certain(audited: Audited, broken: dict[str, Any]) -> None:
    place = broken["manifest"][1]["entry_id"]
    rows = of_topic(audited, "chunked_messages", PENDING)
    (own,) = (row for row in rows if row["chunk_uuid"] == broken["chunk_uuid"])
    assert (own["state"], own["sureness"], own["missing_chunk_ids"]) == ("gap", "likely", [1])
    assert f"20:{place}" in own["reason"]
    assert "missing chunk 1: it has the chunk's size" in own["reason"]
    assert "salvaged" in own["reason"]
    # Its uuid is now that of another message, which is whole and not touched by it.
    (invented,) = (row for row in rows if row["first_entry_id"] == place)
    assert (invented["copies"], invented["sureness"]) == (1, "cannot_tell")
    (other,) = (row for row in rows if row["chunk_uuid"] == invented["chunk_uuid"] and row is not invented)
    assert (other["state"], other["sureness"], other["flags"]) == ("whole", "certain", [])


@pytest.mark.parametrize("name", [PENDING, MISSING])
def test_on_a_topic_with_damage_nothing_is_lost_for_certain(audited: Audited, plan: Plan, name: str) -> None:
    rows = of_topic(audited, "chunked_messages", name)
    assert any(row["state"] in LOST for row in rows)
    assert not [row for row in rows if row["state"] in LOST and row["sureness"] == "certain"]
    stalls = of_topic(audited, "stalls", name)
    assert stalls
    assert not [row for row in stalls if row["action"] in ("acknowledge", "skip")]
    assert {row["action"] for row in stalls if row["state"] in LOST} == {"wait"}
    assert not acknowledged(plan, name)


def test_what_could_not_be_decoded_is_named(audited: Audited) -> None:
    assert any("5:0" in row["reason"] for row in of_topic(audited, "chunked_messages", MISSING))


def test_a_topic_without_damage_is_judged_as_before(
    audited: Audited, plan: Plan, sound: dict[str, list[dict[str, Any]]]
) -> None:
    lost = [row for row in of_topic(audited, "chunked_messages", GAPS) if row["state"] in LOST]
    assert lost
    assert {row["sureness"] for row in lost} == {row["sureness"] for row in sound[GAPS] if row["state"] in LOST}
    stalls = of_topic(audited, "stalls", GAPS)
    assert bool(acknowledged(plan, GAPS)) is any(row["action"] in ("acknowledge", "skip") for row in stalls)


def test_a_count_that_is_one_too_large_loses_nothing(audited: Audited, source: tuple[Path, bytes]) -> None:
    (row,) = (row for row in audited.rows("chunked_messages") if row["topic"] == LYING)
    assert (row["state"], row["num_chunks"], row["stored_bytes"]) == ("whole", 3, row["total_bytes"])
    assert "sizes_lie" in row["flags"]
    assert (row["rebuildable"], row["sureness"]) == (True, "likely")
    (message,) = (one for one in rows_of(audited.out, "messages") if one["topic"] == LYING and one["chunk_uuid"])
    assert message["outcome"] == "exported"
    assert message["payload_sha256"] == hashlib.sha256(source[1]).hexdigest()
