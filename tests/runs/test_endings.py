"""How commands end: exit code and one sentence, whatever was raised."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from pulsar_backlog import logs
from pulsar_backlog.errors import DecodeError, SourceError, UsageError
from pulsar_backlog.known_secrets import remember_secret
from pulsar_backlog.runs.endings import ending, environment_faults_as_usage_errors
from pulsar_backlog.spark.deaths import headline


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the log files."""
    monkeypatch.setenv(logs.LOGS_VARIABLE, str(tmp_path / "logs"))
    monkeypatch.delenv(logs.VERBOSE_VARIABLE, raising=False)
    logs.log_file.cache_clear()
    monkeypatch.setattr(logs, "MAX_LOG_FILES", 2)
    yield tmp_path / "logs"
    logs.log_file.cache_clear()


def ended(error: BaseException) -> int:
    def run() -> NoReturn:
        raise error

    return ending("pulsar-backlog audit", run)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UsageError("--out is missing"), 2, "--out is missing"),
        (SourceError("s3://b", "unreachable", "no answer"), 4, "s3://b: unreachable: no answer"),
        (DecodeError("E1", offset=3, field="f", expected="a", found="b"), 4, "E1 at byte 3 (f): expected a, found b"),
        (KeyboardInterrupt(), 130, "stopped by Ctrl-C; what was finished stays"),
    ],
)
def test_what_a_user_can_mend_is_one_sentence(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert ended(error) == code
    assert capsys.readouterr() == ("", f"pulsar-backlog audit: {said}\n")
    assert not folder.exists()


def test_an_interrupt_is_one_also_when_cleaning_up_fails_after_it(capsys: pytest.CaptureFixture[str]) -> None:
    def run() -> int:
        try:
            raise KeyboardInterrupt
        finally:
            raise ConnectionRefusedError("the JVM is gone")

    assert ending("pulsar-backlog audit", run) == 130
    assert capsys.readouterr().err.count("\n") == 1


def test_a_fault_of_the_program_names_the_file_of_its_trace(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert ended(ValueError("no such thing.\nand much more")) == 3
    (log,) = folder.iterdir()
    assert capsys.readouterr().err == (
        f"pulsar-backlog audit: stopped by ValueError: no such thing; what was committed stays, and the stack trace is "
        f"in {log}\n"
    )
    assert "Traceback" in log.read_text()
    assert "and much more" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_verbose_shows_the_trace(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(logs.VERBOSE_VARIABLE, "1")
    assert ended(ValueError("no such thing")) == 3
    said = capsys.readouterr().err
    assert said.startswith("Traceback")
    assert said.endswith(
        "stopped by ValueError: no such thing; what was committed stays, and the stack trace is above\n"
    )
    assert not folder.exists()


def test_a_trace_holds_no_known_secret(folder: Path) -> None:
    remember_secret("hunter2-hunter2-hunter2")
    ended(ValueError("the server said hunter2-hunter2-hunter2"))
    (log,) = folder.iterdir()
    assert "the server said ***" in log.read_text()


def test_only_a_few_files_of_earlier_processes_stay(folder: Path) -> None:
    folder.mkdir()
    for day in range(4):
        (folder / f"2020010{day}T000000Z-1.log").touch()
    (folder / "notes.log").touch()
    mine = logs.log_file()
    assert {path.name for path in folder.iterdir()} == {"20200103T000000Z-1.log", mine.name, "notes.log"}


def test_logs_that_cannot_be_written_there_go_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(logs.LOGS_VARIABLE, str(tmp_path / "file" / "logs"))
    assert logs.log_file().is_file()
    logs.log_file().unlink()


def test_the_headline_of_a_workers_trace_is_its_last_line() -> None:
    words = (
        "\n  An exception was thrown from the Python worker. Please see the stack trace below.\n"
        'Traceback (most recent call last):\n  File "x.py", line 1, in run\nValueError: what went wrong\n\n'
    )
    assert headline(RuntimeError(words)) == "ValueError: what went wrong"


def test_a_full_disk_is_told_with_the_room_that_is_left(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match=rf"a disk is full.*MB for {tmp_path}.*--out"),
        environment_faults_as_usage_errors(str(tmp_path)),
    ):
        raise RuntimeError from OSError(28, "No space left on device")


def test_other_faults_pass(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), environment_faults_as_usage_errors(str(tmp_path), "s3a://bucket", None):
        raise ZeroDivisionError


WITH_GARBAGE = """
from pulsar_backlog.runs.endings import ending

class Garbage:
    def __init__(self):
        self.me = self
    def __del__(self):
        print("looked for")

garbage = Garbage()
for number in range(2):
    assert ending("pulsar-backlog any", lambda: 0) == 0
"""


def test_who_ends_looks_for_no_garbage() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITH_GARBAGE], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == ""


WITHOUT_MEMORY = """
from pyspark.sql import functions as f
from pulsar_backlog.runs.endings import ending, environment_faults_as_usage_errors
from pulsar_backlog.spark.choice import choose
from pulsar_backlog.spark.session import start_session

def run():
    choose({"spark.driver.memory": "512m"})
    with environment_faults_as_usage_errors():
        return start_session("memory").range(1).select(f.expr("repeat('x', 2000000000)")).collect()

raise SystemExit(ending("pulsar-backlog any", run))
"""


def test_too_little_memory_is_told_with_the_setting_that_gives_more() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_MEMORY], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("pulsar-backlog any: Java's memory was not enough; ")
    assert "spark.driver.memory" in done.stderr


HIDDEN_INTERRUPT = """
import signal
from pulsar_backlog.interrupts import run_process
from pulsar_backlog.runs.endings import ending

def run():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        pass  # as a module in C does while it is loaded
    raise RAISED

run_process(lambda: ending("pulsar-backlog any", run))
"""


@pytest.mark.parametrize("error", ["ImportError('pandas did not load')", "UsageError('no such file')"])
def test_what_comes_of_ctrl_c_is_told_as_ctrl_c(error: str) -> None:
    program = "from pulsar_backlog.errors import UsageError\n" + HIDDEN_INTERRUPT.replace("RAISED", error)
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "pulsar-backlog any: stopped by Ctrl-C; what was finished stays\n")
