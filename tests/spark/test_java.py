"""Which Java Spark would start, and what is said of one that it cannot run on."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.spark.java import check_java, java_path

NEEDED = "Java 17 or 21"


def java_that_says(folder: Path, text: str, code: int = 0) -> Path:
    """A `JAVA_HOME` whose java says `text` where Java tells its version."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{text}\nEND\nexit {code}\n")
    java.chmod(0o755)
    return folder


@pytest.fixture
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Neither JAVA_HOME nor a java on the PATH."""
    (tmp_path / "empty").mkdir()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    return monkeypatch


def test_the_java_of_this_machine_will_do() -> None:
    check_java()
    assert java_path().name == "java"


def test_no_java_at_all(no_java: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=f"Java was not found.*{NEEDED}.*JAVA_HOME"):
        check_java()


def test_a_java_home_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark asks JAVA_HOME only, whatever lies on the PATH."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(UsageError, match=f"JAVA_HOME is {re.escape(str(tmp_path / 'gone'))}.*{NEEDED}"):
        check_java()


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('java version "1.8.0_392"\nJava(TM) SE Runtime Environment (build 1.8.0_392-b08)', "Java 8"),
        ('openjdk version "11.0.25" 2024-10-15\nOpenJDK Runtime Environment (build 11.0.25+9)', "Java 11"),
        ('openjdk version "25.0.3" 2026-04-21 LTS', "Java 25"),
        ('openjdk version "26-ea" 2026-03-17', "Java 26"),  # an early build has no second number
    ],
)
def test_a_java_that_spark_does_not_run_on(
    said: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path, said)))
    with pytest.raises(UsageError, match=f"{re.escape(str(tmp_path))}/bin/java is {version}, .*{NEEDED}.*JAVA_HOME"):
        check_java()


@pytest.mark.parametrize("said", ['openjdk version "17.0.15" 2025-04-15', 'openjdk version "21" 2023-09-19'])
def test_a_java_that_spark_runs_on(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = f'Picked up JAVA_TOOL_OPTIONS: -Dversion="3"\n{said}'  # Java says this first
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path, told)))
    check_java()


def test_a_java_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As macOS has one that only says where to get Java."""
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path, "Unable to locate a Java Runtime.", 1)))
    with pytest.raises(UsageError, match=f"does not run.*{NEEDED}.*Unable to locate a Java Runtime"):
        check_java()


def test_a_file_that_is_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = java_that_says(tmp_path, "") / "bin" / "java"
    java.write_bytes(b"\x7fELF of another machine")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UsageError, match=f"does not run.*{NEEDED}"):
        check_java()


def test_the_java_on_the_path_counts_without_java_home(no_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = java_that_says(tmp_path / "old", 'java version "1.8.0_392"') / "bin"
    no_java.setenv("PATH", f"{folder}:{Path(str(shutil.which('sh', path='/bin:/usr/bin'))).parent}")
    with pytest.raises(UsageError, match=f"{re.escape(str(folder))}/java is Java 8"):
        check_java()
