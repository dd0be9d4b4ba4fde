"""The history of repairs in a job that runs alone, as a scheduler starts it: no session runs when it is asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.small_tables import write_tables

ROOT = Path(__file__).parents[2]
NAMED = {
    "topic": "persistent://t/n/a",
    "subscription": "s",
    "sureness": "certain",
    "affects": "",
    "undo": "",
    "requires": [],
}


def test_the_report_alone_has_the_plans(tmp_path: Path) -> None:
    mine = {"cluster": "c", "plan_id": "plan-of-mine"}
    plan = mine | {"folder": "/plans/mine", "state": "planned"}
    write_tables(tmp_path, repair_plans=[plan, plan | {"cluster": "other"}], repair_actions=[mine | NAMED])
    done = subprocess.run(
        [sys.executable, ROOT / "jobs" / "write_report.py", "--out", tmp_path, "--cluster", "c"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "lib")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "plan-of-mine" in (tmp_path / "repairs.html").read_text()
    assert json.loads((tmp_path / "result.json").read_text())["state"] == "finished"
