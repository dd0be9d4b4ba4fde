"""Results that somebody broke, and audits that do not end: nothing wrong is told, and `result.json` says so."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from pulsar_backlog.arguments import job_parser
from pulsar_backlog.command_line import app
from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import JobResult, run_job
from pulsar_backlog.tableio import table_cache
from tests.auditing import Audited, copy_ledgers, run_audit, run_job_of
from tests.report.test_schemas import RESULT

NEEDS_SPARK = True

FIRST, ADDED = (22, 24), 28


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """Two audits, each of which adds to all tables: a ledger came between."""
    folder = tmp_path_factory.mktemp("audited")
    run_audit(copy_ledgers(folder / "source", FIRST[:1]), folder / "out")
    return run_audit(copy_ledgers(folder / "source", FIRST), folder / "out")


@pytest.fixture
def copied(audited: Audited, tmp_path: Path) -> Path:
    """A folder with its source and its results."""
    table_cache.clear()
    shutil.copytree(audited.out.parent, tmp_path / "copy")
    return tmp_path / "copy"


def audit(copied: Path) -> Audited:
    return run_audit(copied / "source", copied / "out")


def newest_commit(copied: Path, table: str) -> Path:
    return max((copied / "out" / "tables" / table / "_delta_log").glob("*.json"))


def data_file(copied: Path, table: str) -> Path:
    adds = [json.loads(line).get("add") for line in newest_commit(copied, table).read_text().splitlines()]
    (path,) = [add["path"] for add in adds if add]
    return copied / "out" / "tables" / table / str(path)


def damage(path: Path) -> None:
    path.write_text("no action\n")


DAMAGED = "of a table, is damaged or gone: put it back as it was, or audit again with a new --out"
HARMS: dict[str, tuple[Callable[[Path], object], str]] = {
    "commit of entries": (
        lambda copied: newest_commit(copied, "entries").unlink(),
        "entries in .* is at version 0, .* 1:",
    ),
    "commit of runs": (lambda copied: newest_commit(copied, "runs").unlink(), "the table runs in .* is at version"),
    "table": (lambda copied: shutil.rmtree(copied / "out/tables/chunks"), "the table chunks in .* is gone"),
    "file of entries": (lambda copied: data_file(copied, "entries").unlink(), f"tables/entries/part-.* {DAMAGED}"),
    "file of findings": (lambda copied: data_file(copied, "findings").unlink(), f"tables/findings/part-.* {DAMAGED}"),
    "log": (lambda copied: damage(newest_commit(copied, "chunks")), f"tables/chunks/_delta_log, a file {DAMAGED}"),
}


@pytest.mark.parametrize("grows", [True, False], ids=["a ledger is added", "the same ledgers"])
@pytest.mark.parametrize(("harm", "words"), HARMS.values(), ids=HARMS)
def test_an_audit_of_broken_results_stops(
    copied: Path, harm: Callable[[Path], object], words: str, grows: bool
) -> None:
    before = json.loads((copied / "out" / "result.json").read_text())
    harm(copied)
    if grows:
        copy_ledgers(copied / "source", [ADDED])
    done = audit(copied)
    assert done.exit_code == 2
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("[")]
    result = done.result
    assert re.search(words, result["message"])
    assert line.endswith(result["message"])
    assert [error.message for error in RESULT.iter_errors(result)] == []
    assert (result["state"], result["job"], result["exit_code"]) == ("stopped", "inventory_ledgers", 2)
    assert result["last"] == before


def test_what_is_put_back_is_believed_again(copied: Path) -> None:
    assert audit(copied).exit_code == 1  # its source has another name than that of which it is a copy
    before = (copied / "out" / "result.json").read_bytes()
    commit = newest_commit(copied, "entries")
    text = commit.read_bytes()
    commit.unlink()
    assert audit(copied).exit_code == 2
    commit.write_bytes(text)
    done = audit(copied)
    assert (done.exit_code, json.loads(done.stdout)["unchanged"]) == (1, True)
    assert (copied / "out" / "result.json").read_bytes() == before


def test_a_file_that_only_spark_reads(copied: Path) -> None:
    gone = data_file(copied, "entries")
    gone.unlink()
    done = run_job_of("export", "export_messages", copied / "source", copied / "out", to=copied / "to")
    assert done.exit_code == 2
    assert f"{gone}, a file of a table, is damaged or gone" in done.stderr
    assert done.result["state"] == "finished"  # an export is no audit


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: os.truncate(path, 1000)], ids=["gone", "cut"])
def test_a_question_to_spark_of_a_file_that_is_broken(copied: Path, harm: Callable[[Path], object]) -> None:
    """Spark says so while rows are read, in words of Java."""
    broken = data_file(copied, "entries")
    harm(broken)
    query = "SELECT max(entry_id) FROM entries WHERE producer_name <> ''"
    done = CliRunner().invoke(app, ["sql", str(copied / "out"), query, "--engine", "spark"])
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith(f"{broken}, a file {DAMAGED}")


def test_a_killed_audit_is_not_taken_for_the_one_before(copied: Path) -> None:
    copy_ledgers(copied / "source", [ADDED])
    before = json.loads((copied / "out" / "result.json").read_text())
    argv = ["audit", str(copied / "source"), "--out", str(copied / "out")]
    with subprocess.Popen(
        [sys.executable, "-m", "pulsar_backlog.cli", *argv],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("[2/"):
                process.send_signal(signal.SIGKILL)
                break
    result = json.loads((copied / "out" / "result.json").read_text())
    assert [error.message for error in RESULT.iter_errors(result)] == []
    assert (result["state"], result["exit_code"], result["last"]) == ("unfinished", None, before)
    table_cache.clear()
    done = audit(copied)
    assert done.exit_code in (0, 1)
    assert done.result["state"] == "finished"
    assert done.result["counts"]["ledgers"] == 3


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (UsageError("--x is wrong"), 2, "--x is wrong"),
        (SourceError("s3://b", "unreachable", "no answer"), 4, "s3://b: unreachable: no answer"),
        (ValueError("no such thing"), 3, "stopped by ValueError: no such thing; what was committed stays"),
        (KeyboardInterrupt(), 130, "stopped by Ctrl-C; what was finished stays"),
    ],
)
def test_every_end_that_is_not_well_is_told(
    copied: Path, error: BaseException, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def body(_: JobContext) -> JobResult:
        assert seen()["state"] == "unfinished"
        raise error

    def seen() -> dict[str, Any]:
        return dict(json.loads((copied / "out" / "result.json").read_text()))

    before = seen()
    argv = ["--out", str(copied / "out")]
    assert run_job("check_quality", job_parser("check_quality", ""), argv, body) == code
    result = seen()
    told = {name: result[name] for name in ("state", "job", "exit_code", "message", "last")}
    assert told == {"state": "stopped", "job": "check_quality", "exit_code": code, "message": words, "last": before}
    assert [error.message for error in RESULT.iter_errors(result)] == []


def test_a_job_that_finds_nothing_new_leaves_the_result(copied: Path) -> None:
    before = (copied / "out" / "result.json").read_bytes()
    assert run_job_of("audit", "scan_entries", copied / "source", copied / "out").exit_code == 99
    assert (copied / "out" / "result.json").read_bytes() == before


def test_without_a_result_a_single_job_makes_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def body(_: JobContext) -> JobResult:
        raise UsageError("no")

    assert run_job("check_quality", job_parser("check_quality", ""), ["--out", str(tmp_path)], body) == 2
    assert not (tmp_path / "result.json").exists()
