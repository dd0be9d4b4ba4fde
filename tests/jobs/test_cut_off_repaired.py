"""Confirmed messages behind a ledger's recorded end, on bytes of real bookies: taken out, planned to go back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pulsar_backlog.repair.applying.sealed_entries import read_stored
from pulsar_backlog.repair.broker.cluster import Ledgers
from pulsar_backlog.repair.origin import Origin
from pulsar_backlog.repair.values import Plan, read_plan
from tests.auditing import DATA, Audited, rows_of, run_job_of, run_one

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CUT_OFF = DATA / "cut-off"
TOPIC = "persistent://lab/cut/orders"
JOBS = ("inventory_ledgers", "scan_entries", "assemble_chunks", "model_consumers", "analyze_subscriptions",
    "decode_internals")  # fmt: skip


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("cut-off")
    for job in JOBS:
        run_one(job, CUT_OFF / "source", out, admin=CUT_OFF / "admin", cluster="lab")
    return out


def run_plan(out: Path, **options: Any) -> tuple[Plan | None, list[dict[str, Any]]]:
    from pulsar_backlog.jobfiles import load_job
    from tests.auditing import _heard

    argv = [f"--out={out}", "--cluster=lab", *(f"--{name.replace('_', '-')}={one}" for name, one in options.items())]
    run = _heard(lambda: load_job("plan_repair").main(argv), {"out": str(out), "source": ""})
    assert run.exit_code == 0, run.stderr
    said = [json.loads(line) for line in run.stdout.splitlines()]
    folder = said[0].get("folder")
    return read_plan(Path(folder)) if folder else None, said


def export(out: Path, **options: Any) -> Audited:
    return run_job_of("export", "export_messages", CUT_OFF / "source", out, cluster="lab", **options)


@pytest.mark.parametrize("how", ["new", "own"])
def test_what_the_writer_was_told_is_planned_in_order(audited: Path, how: str) -> None:
    plan, _ = run_plan(audited, cut_off=how)
    assert plan is not None
    actions = [action for action in plan.actions if action.kind == "republish"]
    assert {action.kind for action in plan.actions} == {"republish"}
    assert [action.message and action.message.origin for action in actions] == [
        Origin("cut", number, how == "own") for number in range(4, 9)
    ]
    assert [action.requires for action in actions] == [(), (0,), (1,), (2,), (3,)]
    for number, action in enumerate(actions, 4):
        assert action.message is not None
        assert action.message.as_stored is not None
        (entry,) = read_stored(Ledgers(), action.message.as_stored, encrypted=False)
        assert (entry.metadata.sequence_id, entry.payload) == (number, f"order {number}".encode())


def test_a_plan_that_does_not_ask_leaves_them_alone(audited: Path) -> None:
    assert run_plan(audited)[0] is None


def test_they_are_exported_into_a_folder_of_their_own(audited: Path, tmp_path: Path) -> None:
    run = export(audited, only_cut_off=True, to=tmp_path / "lost")
    assert run.exit_code in (0, 1), run.stderr
    rows = rows_of(tmp_path / "lost", "messages")
    assert [(row["entry_id"], row["outcome"], row["verified"], bytes(row["payload"])) for row in rows] == [
        (number, "exported", True, f"order {number}".encode()) for number in range(4, 9)
    ]
    assert {(row["topic"], row["producer_name"]) for row in rows} == {(TOPIC, "cut")}
    assert json.loads(run.stdout)["messages"] == 5
    assert not (audited / "tables" / "messages").exists()
    assert export(audited, only_cut_off=True, to=tmp_path / "none", producer=["other"]).exit_code in (0, 1)
    assert rows_of(tmp_path / "none", "messages") == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({}, "needs --to DIR"), ({"to": "."}, "needs --to DIR"), ({"to": "x", "key": ["k"]}, "--only-cut-off and --key")],
)
def test_they_never_lie_among_the_log(audited: Path, tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    given = {name: audited if one == "." else tmp_path / one if name == "to" else one for name, one in options.items()}
    run = export(audited, only_cut_off=True, **given)
    assert run.exit_code == 2
    assert sentence in run.stderr
