"""`analyze_subscriptions` where no state is given: it says so, and leaves nothing of an earlier run behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pulsar_backlog.jobfiles import load_job
from tests.auditing import DATA, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REAL = DATA / "cursors" / "broker-4.2.4"


def test_with_and_without_state(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, admin = str(tmp_path / "out"), tmp_path / "admin"
    job = load_job("analyze_subscriptions")
    plain = ["--out", out, "--cluster", "c"]
    # Never any state: nothing to do, and no tables.
    assert job.main(plain) == 99
    assert "No saved state of subscriptions is given (--admin)" in capsys.readouterr().err
    assert not (tmp_path / "out" / "tables" / "subscriptions").exists()
    # State without a single stored ledger: every cursor is there, with nothing of its log.
    admin.mkdir()
    for file in REAL.iterdir():
        (admin / file.name).write_bytes(file.read_bytes())
    assert job.main([*plain, "--admin", str(admin)]) == 0
    rows = {(row["topic"][-8:], row["subscription"]): row for row in rows_of(tmp_path / "out", "subscriptions")}
    holes = rows["nbatched", "shared-holes"]
    assert (holes["encoding"], holes["downgrade_safe"], holes["acked_ranges"]) == ("long_array", False, 63)
    assert (holes["backlog_entries"], holes["unstored_entries"]) == (0, 127)
    assert holes["state_bytes"] == len(
        bytes.fromhex(json.loads((REAL / "entrylog-cursor-ledger-14.json").read_text())["1"]["hex"])
    )
    assert {row["code"] for row in rows_of(tmp_path / "out", "findings")} == {"K09"}
    assert job.main([*plain, "--admin", str(admin)]) == 99, "nothing new"
    # The state is gone: what was said of it must not stay.
    assert job.main(plain) == 0
    assert rows_of(tmp_path / "out", "subscriptions") == []
