"""Pipeline `repair_plan`: from ledgers and admin JSON to a plan in one go, and the same plan the second time."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pulsar_backlog.commands.audit import run_pipeline
from pulsar_backlog.config import load_pipelines
from pulsar_backlog.repair.values import read_plan
from tests.auditing import ADMIN, copy_ledgers, rows_of

NEEDS_SPARK = True

LEDGER_ID = 20
TOPIC = "persistent://lab/s3/brk-many-pending"


def ran(source: Path, out: Path) -> tuple[int, list[dict[str, Any]]]:
    """The pipeline as the command line runs it: its exit code, and what it says of the plan."""
    given = {"source": str(source), "admin": str(ADMIN), "out": str(out), "cluster": "demo", "fail_on": "never"}
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(io.StringIO()):
        code = run_pipeline(load_pipelines().get("repair_plan"), given)
    lines = [json.loads(line) for line in said.getvalue().splitlines() if line.startswith("{")]
    return code, [line for line in lines if line.get("record") in ("repair_plan", "repair_action")]


def test_a_plan_in_one_go_and_the_same_again(spark: SparkSession, tmp_path: Path) -> None:
    source, out = copy_ledgers(tmp_path / "objects", [LEDGER_ID]), tmp_path / "out"
    code, (head, *actions) = ran(source, out)
    assert (code, head["state"]) == (0, "planned")
    plan = read_plan(Path(head["folder"]))
    assert len(actions) == head["actions"] == len(plan.actions)
    assert {action.topic for action in plan.actions} == {TOPIC}
    assert {action.kind for action in plan.actions} == {"republish", "acknowledge", "settings"}
    # What is acknowledged as exported was exported by the same run.
    kept = {row["chunk_uuid"] for row in rows_of(out, "messages") if row["verified"]}
    assert {action.message.original_uuid for action in plan.actions if action.message is not None} <= kept
    (row,) = rows_of(out, "repair_plans")
    assert (row["plan_id"], row["actions"]) == (plan.plan_id, len(actions))

    code, (head, *_) = ran(source, out)
    assert (code, head["plan_id"]) == (99, plan.plan_id)
