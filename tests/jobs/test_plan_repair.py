"""Plans from the audit of the bundled backlog: right by its tables, the same twice, and safe."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.repair.acked_entries import entries_of_runs
from pulsar_backlog.repair.planning.folder import HELD_BACK_NAME
from pulsar_backlog.repair.values import Plan, payload_path, read_plan
from tests.auditing import EXPECTED, OBJECTS, Audited, rows_of, run_job_of, version_of

NEEDS_SPARK = True

GLOBS = tuple(f"*/{name}" for name in ("brk-missing", "brk-dup-prefix", "brk-many-pending", "brk2-tail-residue"))
BROKEN_GLOB = "*/brk2-bad-zstd"


def run_plan(out: Path, **options: Any) -> Audited:
    """The job, as the command line starts it."""
    from pulsar_backlog.jobfiles import load_job

    argv = [f"--out={out}", "--cluster=demo"]
    for name, value in options.items():
        argv += [f"--{name.replace('_', '-')}={one}" for one in (value if isinstance(value, tuple) else (value,))]
    from tests.auditing import _heard

    return _heard(lambda: load_job("plan_repair").main(argv), {"out": str(out), "source": ""})


@pytest.fixture(scope="module")
def exported(bundled: Audited, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the audit, with the messages of some topics exported."""
    out = tmp_path_factory.mktemp("repair") / "audit"
    shutil.copytree(bundled.out, out)
    code = run_job_of(
        "export", "export_messages", OBJECTS, out, cluster="demo", topic=[*GLOBS, BROKEN_GLOB], fail_on="never"
    ).exit_code
    assert code in (0, 4)
    return out


@pytest.fixture(scope="module")
def planned(exported: Path) -> tuple[Path, Plan, list[dict[str, Any]]]:
    """The plan for those topics: its folder, itself, and what was said of it."""
    run = run_plan(exported, topic=GLOBS)
    assert run.exit_code == 0, run.stderr
    said = [json.loads(line) for line in run.stdout.splitlines()]
    folder = Path(said[0]["folder"])
    return folder, read_plan(folder), said


def test_the_plan_does_something_of_each_kind(planned: tuple[Path, Plan, list[dict[str, Any]]]) -> None:
    _, plan, _ = planned
    assert {action.kind for action in plan.actions} == {"republish", "acknowledge", "settings"}
    assert {action.cause for action in plan.actions} >= {"dead_chunks", "exported", "got_in_part", "lost_by_clients"}
    assert all(action.sureness == "certain" for action in plan.actions)


def test_what_is_acknowledged_cannot_be_had_or_is_kept(
    exported: Path, planned: tuple[Path, Plan, list[dict[str, Any]]]
) -> None:
    _, plan, _ = planned
    chunks = {(row["ledger_id"], row["entry_id"]): row for row in rows_of(exported, "chunks")}
    kept = {
        (row["topic"], row["chunk_uuid"], row["publish_time_ms"])
        for row in rows_of(exported, "messages")
        if row["verified"] and row["chunk_uuid"] is not None
    }
    families: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows_of(exported, "chunked_messages"):
        families.setdefault((row["topic"], row["chunk_uuid"]), []).append(row)
    unacked: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for row in rows_of(exported, "ack_ranges"):
        run = {(row["ledger_id"], entry) for entry in range(row["first_entry_id"], row["last_entry_id"] + 1)}
        unacked.setdefault((row["topic"], row["subscription"]), set()).update(run)
    entries = 0
    for action in plan.actions:
        for position in entries_of_runs(action.runs).positions():
            chunk = chunks[position]
            assert chunk["topic"] == action.topic
            assert position in unacked[action.topic, action.subscription or ""]
            for one in families[chunk["topic"], chunk["chunk_uuid"]]:
                assert one["state"] != "in_flight"
                lost = one["state"] in ("orphan_prefix", "headless", "gap") and one["sureness"] == "certain"
                is_kept = (one["topic"], one["chunk_uuid"], one["publish_time_ms"]) in kept
                assert is_kept or (lost and not one["rebuildable"])
            entries += 1
    assert entries > 100


def test_payloads_are_what_was_sent(planned: tuple[Path, Plan, list[dict[str, Any]]]) -> None:
    folder, plan, _ = planned
    lines = map(json.loads, (EXPECTED / "sent" / "sent-broken.jsonl").read_text().splitlines())
    sent = {(line["topic"], line["uuid"]): line["full_sha"] for line in lines if "full_sha" in line}
    published = [action for action in plan.actions if action.message is not None]
    assert published
    for action in published:
        assert action.message is not None
        digest = hashlib.sha256(payload_path(folder, action.number).read_bytes()).hexdigest()
        assert digest == action.message.sha256
        assert digest == sent[action.topic, action.message.original_uuid]
    assert folder.stat().st_mode & 0o077 == 0


def test_the_same_tables_make_the_same_plan(exported: Path, planned: tuple[Path, Plan, list[dict[str, Any]]]) -> None:
    folder, plan, _ = planned
    text = (folder / "plan.jsonl").read_bytes()
    version = version_of(exported, "repair_plans")
    again = run_plan(exported, topic=GLOBS)
    assert again.exit_code == 99
    assert json.loads(again.stdout.splitlines()[0])["plan_id"] == plan.plan_id
    assert (folder / "plan.jsonl").read_bytes() == text
    assert version_of(exported, "repair_plans") == version


def test_tables_and_page_tell_of_the_plan(exported: Path, planned: tuple[Path, Plan, list[dict[str, Any]]]) -> None:
    _, plan, said = planned
    actions = [row for row in rows_of(exported, "repair_actions") if row["plan_id"] == plan.plan_id]
    assert [(row["action"], row["kind"], row["state"]) for row in actions] == [
        (action.number, action.kind, "planned") for action in plan.actions
    ]
    (row,) = (row for row in rows_of(exported, "repair_plans") if row["plan_id"] == plan.plan_id)
    assert (row["actions"], row["state"], row["folder"]) == (len(actions), "planned", f"plans/{plan.plan_id}")
    assert sum(one["count"] for one in said if one["record"] == "held_back") == sum(
        one["count"] for one in row["held_back"]
    )
    page = (exported / "repairs.html").read_text()
    assert plan.plan_id in page
    assert "py-shared-default-live" in page


def test_without_a_verified_export_nothing_whole_is_touched(exported: Path) -> None:
    """The payloads of this topic do not decode: there is nothing that could be kept, so nothing is acknowledged."""
    run = run_plan(exported, topic=(BROKEN_GLOB,))
    said = [json.loads(line) for line in run.stdout.splitlines()]
    assert {one["kind"] for one in said if one["record"] == "repair_action"} <= {"settings"}
    assert any("could not be verified" in one["why"] for one in said if one["record"] == "held_back")


def test_one_subscription_and_what_is_left_alone(exported: Path) -> None:
    run = run_plan(exported, topic=("*/brk-many-pending",), subscription=("py-excl-q1-autoackfalse-live",))
    said = [json.loads(line) for line in run.stdout.splitlines()]
    actions = [one for one in said if one["record"] == "repair_action" and one["kind"] != "settings"]
    assert [one["kind"] for one in actions] == 3 * ["republish"] + 2 * ["acknowledge"]
    dead, dropped = actions[3:]  # of two messages that are not whole; of three whole ones that clients drop
    assert {one["subscription"] for one in (dead, dropped)} == {"py-excl-q1-autoackfalse-live"}
    assert (dead["entries"], dropped["entries"]) == (4, 9)
    folder = Path(said[0]["folder"])
    held = [json.loads(line) for line in (folder / HELD_BACK_NAME).read_text().splitlines()]
    assert {one["subscription"] for one in held} == {"py-excl-q1-autoackfalse-live"}


def test_a_glob_that_matches_nothing_is_a_mistake(exported: Path) -> None:
    assert run_plan(exported, topic=("nothing",)).exit_code == 2
    assert run_plan(exported, subscription=("nothing",)).exit_code == 2
    assert run_plan(exported, code=("C99",)).exit_code == 2
