"""Ctrl-C at any moment ends all within two seconds and one sentence; so is it told who was killed, and what to do."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from pulsar_backlog.config import home
from pulsar_backlog.logs import LOGS_VARIABLE
from pulsar_backlog.terms import EXIT_FAILED, EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_USAGE
from tests.auditing import ADMIN, OBJECTS, Audited
from tests.cli.started import WAIT_SECONDS, Started, audit_of, by_spark, started

NEEDS_SPARK = True

SENTENCE = "stopped by Ctrl-C; what was finished stays"


JOB = (str(home() / "jobs" / "inventory_ledgers.py"),)


def job_options(folder: Path) -> list[str | Path]:
    return ["--source", OBJECTS, "--admin", ADMIN, "--cluster", "demo", "--out", folder / "out"]


def check_interrupt(running: Started) -> None:
    code, said, seconds = running.interrupt()
    *before, last = (line for line in said.splitlines() if not line.startswith("import time:"))
    assert code == EXIT_INTERRUPTED
    assert last.endswith(SENTENCE)
    assert all(line.startswith("[") for line in before), said  # progress
    assert seconds < 2
    ends = time.monotonic() + 10
    while running.pids()["all"] and time.monotonic() < ends:
        time.sleep(0.05)
    assert running.pids()["all"] == []


@pytest.fixture
def logs(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "tmp").mkdir()
    return {LOGS_VARIABLE: str(tmp_path / "logs"), "TMPDIR": str(tmp_path / "tmp")}


@pytest.mark.parametrize("module", ["typer", "pulsar_backlog.known_secrets", "pyarrow"])
def test_ctrl_c_while_the_program_is_loaded(tmp_path: Path, logs: dict[str, str], module: str) -> None:
    """From its door on, when next to nothing is imported."""
    with started(*audit_of(tmp_path / "out"), PYTHONPROFILEIMPORTTIME="1", **logs) as running:
        running.wait_for_import(module)
        time.sleep(0.005)
        check_interrupt(running)


@pytest.mark.parametrize("module", ["argparse", "pyarrow", "pyspark"])
def test_ctrl_c_while_a_job_file_is_loaded(tmp_path: Path, logs: dict[str, str], module: str) -> None:
    """A job file that Python runs, as spark-submit does, has the same door."""
    with started(*job_options(tmp_path), program=JOB, PYTHONPROFILEIMPORTTIME="1", **logs) as running:
        running.wait_for_import(module)
        time.sleep(0.005)
        check_interrupt(running)


@pytest.mark.parametrize("job", sorted(path.name for path in (home() / "jobs").glob("[a-z]*.py")))
def test_ctrl_c_while_any_job_file_is_loaded(tmp_path: Path, logs: dict[str, str], job: str) -> None:
    program = (str(home() / "jobs" / job),)
    with started(*job_options(tmp_path), program=program, PYTHONPROFILEIMPORTTIME="1", **logs) as running:
        running.wait_for_import("argparse")
        check_interrupt(running)


def test_ctrl_c_while_a_job_file_starts_java(bundled: Audited, tmp_path: Path, logs: dict[str, str]) -> None:
    shutil.copytree(bundled.out, tmp_path / "out")
    options = ["--source", OBJECTS, "--cluster", "demo", "--out", tmp_path / "out", "--to", tmp_path / "export"]
    with started(*options, program=(str(home() / "jobs" / "export_messages.py"),), **logs) as running:
        running.wait_for("java")
        check_interrupt(running)


def test_a_job_file_takes_its_options_as_before(tmp_path: Path, logs: dict[str, str]) -> None:
    with started("--frob", program=JOB, **logs) as running:
        _, said = running.process.communicate(timeout=WAIT_SECONDS)
    assert running.process.returncode == EXIT_USAGE
    assert "--source" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(("kind", "later"), [("java", 0.0), ("java", 1.0), ("java", 4.0), ("worker", 0.0)])
def test_ctrl_c_with_java(tmp_path: Path, logs: dict[str, str], kind: str, later: float) -> None:
    """While it starts, while Spark makes its context and session, while tasks run."""
    with started(*audit_of(tmp_path / "out"), *by_spark(tmp_path), **logs) as running:
        running.wait_for(kind)
        time.sleep(later)
        check_interrupt(running)
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("later", [0.0, 0.5, 1.5])
def test_ctrl_c_without_java(tmp_path: Path, logs: dict[str, str], later: float) -> None:
    """While processes for tasks start, and while they run."""
    with started(*audit_of(tmp_path / "out"), **logs) as running:
        running.wait_for("task")
        time.sleep(later)
        check_interrupt(running)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_task_that_was_killed_is_told(tmp_path: Path, logs: dict[str, str]) -> None:
    with started(*audit_of(tmp_path / "out"), **logs) as running:
        code, said = running.kill("task")
    assert "Traceback" not in said
    last = said.splitlines()[-1]
    assert code == EXIT_FAILED
    assert "a Python worker, or the daemon of Spark that forks them, was ended by the system, most likely" in last
    for part in ("MB are free now", "Start the same command again", str(tmp_path / "logs")):
        assert part in last


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("java", "Java, in which Spark runs, was ended by SIGKILL, most likely by a system that lacks memory"),
        ("daemon", "a Python worker, or the daemon of Spark that forks them, was ended by the system, most likely"),
        ("worker", "a Python worker, or the daemon of Spark that forks them, was ended by the system, most likely"),
    ],
)
def test_who_was_killed_is_told(tmp_path: Path, logs: dict[str, str], kind: str, words: str) -> None:
    with started(*audit_of(tmp_path / "out"), *by_spark(tmp_path), **logs) as running:
        running.wait_for("worker")
        code, said = running.kill(kind)
    assert "Traceback" not in said
    if kind == "daemon" and code == EXIT_FINDINGS:
        return  # it had no workers at that moment, and Spark has started another one
    last = said.splitlines()[-1]
    assert code == EXIT_FAILED
    assert words in last
    for part in ("spark.driver.memory", "MB are free now", "Start the same command again", str(tmp_path / "logs")):
        assert part in last
    assert "Py4J" not in said


@pytest.mark.parametrize("later", [0.0, 1.0])
def test_java_killed_while_it_starts_is_told(tmp_path: Path, logs: dict[str, str], later: float) -> None:
    """Nothing that was typed is at fault, so the exit code is not that of usage."""
    with started(*audit_of(tmp_path / "out"), *by_spark(tmp_path), **logs) as running:
        running.wait_for("spark")
        time.sleep(later)
        code, said = running.kill("spark")
    last = said.splitlines()[-1]
    assert code == EXIT_FAILED, said
    assert "Java, in which Spark runs, was ended by SIGKILL, most likely by a system that lacks memory" in last
    assert "Start the same command again" in last and "Traceback" not in said


def test_the_short_java_before_it_killed_is_told(tmp_path: Path, logs: dict[str, str]) -> None:
    """Spark's script then ends with 1, as it does for what a user got wrong; but Java starts the next time."""
    with started(*audit_of(tmp_path / "out"), *by_spark(tmp_path), **logs) as running:
        code, said = running.kill("launcher")
    last = said.splitlines()[-1]
    assert code == EXIT_FAILED, said
    assert "Java, in which Spark runs, was ended while it started, most likely by a system that lacks memory" in last
    assert "Start the same command again" in last and "Traceback" not in said
