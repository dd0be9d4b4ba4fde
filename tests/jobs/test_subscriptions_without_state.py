"""`analyze_subscriptions` where no state is given: it says so, and keeps what an earlier run was given."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pulsar_backlog.jobfiles import load_job
from tests.auditing import ADMIN, DATA, copy_ledgers, rows_of, run_audit, run_one

NEEDS_SPARK = True

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REAL = DATA / "cursors" / "broker-4.2.4"


def test_with_and_without_state(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, admin = str(tmp_path / "out"), tmp_path / "admin"
    job = load_job("analyze_subscriptions")
    plain = ["--source", str(REAL), "--out", out, "--cluster", "c"]
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
    # No state is given: nobody asked about subscriptions, and what was known of them stays.
    before = {name: rows_of(tmp_path / "out", name) for name in ("subscriptions", "ack_ranges", "stalls", "findings")}
    assert job.main(plain) == 0
    assert {name: rows_of(tmp_path / "out", name) for name in before} == before
    assert job.main(plain) == 99
    # Also what a version before wrote, which did not store the state that it went by.
    shutil.rmtree(tmp_path / "out" / "tables" / "saved_states")
    (tmp_path / "out" / "tables" / "versions.json").unlink()  # nor which versions it left
    assert job.main(plain) == 99
    assert {name: rows_of(tmp_path / "out", name) for name in before} == before


@pytest.mark.parametrize("files", [{}, {"x.internalStats.json": b""}, {"README": b"notes"}])
def test_an_audit_with_a_folder_of_nothing_ends_before_it_begins(tmp_path: Path, files: dict[str, bytes]) -> None:
    admin = tmp_path / "admin"
    admin.mkdir()
    for name, content in files.items():
        (admin / name).write_bytes(content)
    source = copy_ledgers(tmp_path / "objects", [267])
    for run in (run_audit, partial(run_one, "analyze_subscriptions"), partial(run_one, "inventory_ledgers")):
        ended = run(source, tmp_path / "out", admin=admin)
        assert ended.exit_code == 2
        assert f"--admin {admin} holds no" in ended.stderr
        assert "pulsar-backlog snapshot" in ended.stderr
    assert not (tmp_path / "out" / "tables").exists()


def test_an_audit_with_some_unusable_files_is_not_complete(spark: SparkSession, tmp_path: Path) -> None:
    admin = tmp_path / "admin"
    admin.mkdir()
    shutil.copy(ADMIN / "lab__s3__compact-plain.internalStats.json", admin)
    (admin / "lab__s3__py-chunk-lz4.internalStats.json").write_bytes(b'{"ledgers": [')
    (admin / "lab__s3__py-chunk-lz4.internal-info.json").write_bytes(b"<html>502 Bad Gateway</html>")
    source = copy_ledgers(tmp_path / "objects", [267])
    ended = run_one("inventory_ledgers", source, tmp_path / "out", admin=admin)
    assert ended.exit_code == 4
    assert [subject.split(".")[1] for subject in ended.codes()["S19"]] == ["internal-info", "internalStats"]
