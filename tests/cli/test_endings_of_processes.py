"""Ctrl-C at any moment ends all within two seconds and one sentence; so is it told who was killed, and what to do."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pulsar_backlog.logs import LOGS_VARIABLE
from pulsar_backlog.terms import EXIT_FAILED, EXIT_FINDINGS, EXIT_INTERRUPTED
from tests.cli.started import Started, audit_of, started

SENTENCE = "stopped by Ctrl-C; what was finished stays"


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


@pytest.mark.parametrize(("kind", "later"), [("java", 0.0), ("java", 1.0), ("java", 4.0), ("worker", 0.0)])
def test_ctrl_c_with_java(tmp_path: Path, logs: dict[str, str], kind: str, later: float) -> None:
    """While it starts, while Spark makes its context and session, while tasks run."""
    with started(*audit_of(tmp_path / "out"), **logs) as running:
        running.wait_for(kind)
        time.sleep(later)
        check_interrupt(running)
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("java", "Java, in which Spark runs, was ended by SIGKILL, most likely by a system that lacks memory"),
        ("daemon", "a Python worker of Spark, or the daemon that forks them, was ended by the system, most likely"),
        ("worker", "a Python worker of Spark, or the daemon that forks them, was ended by the system, most likely"),
    ],
)
def test_who_was_killed_is_told(tmp_path: Path, logs: dict[str, str], kind: str, words: str) -> None:
    with started(*audit_of(tmp_path / "out"), **logs) as running:
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
