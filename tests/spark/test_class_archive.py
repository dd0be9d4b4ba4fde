"""The class archive: used where it fits, no harm where it does not, absent where nobody made one."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.spark.class_archive import RECORD_VARIABLE, _name, archive_of, java_options
from pulsar_backlog.spark.jars import JARS_VARIABLE, delta_jars

NEEDS_SPARK = True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of jars, whose name needs quotes."""
    place = tmp_path / "my jars"
    place.mkdir()
    monkeypatch.setenv(JARS_VARIABLE, str(place))
    monkeypatch.delenv(RECORD_VARIABLE, raising=False)
    return place


def place(folder: Path, content: bytes) -> Path:
    """An archive of no jars."""
    path = folder / _name([], len(content))
    path.write_bytes(content)
    return path


def java(options: str, *argv: str) -> subprocess.CompletedProcess[str]:
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else "java"
    return subprocess.run([program, *shlex.split(options), *argv], capture_output=True, text=True, check=False)


def test_without_an_archive_nothing_is_asked_of_java(folder: Path) -> None:
    assert java_options([folder / "a.jar"]) == ""


@pytest.mark.parametrize("content", [b"", b"no archive at all", b"\0" * 100_000])
def test_a_broken_archive_does_no_harm(folder: Path, content: bytes) -> None:
    place(folder, content)
    done = java(java_options([]), "-version")
    assert (done.returncode, done.stdout) == (0, "")
    assert "rror" not in done.stderr


def test_a_part_of_an_archive_is_none(folder: Path) -> None:
    place(folder, b"whole").write_bytes(b"who")
    assert java_options([]) == ""


def test_another_java_or_other_jars_have_another_archive(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = place(folder, b"x")
    assert archive_of([]) == here
    assert archive_of([folder / "b.jar"]) is None
    monkeypatch.setenv("JAVA_HOME", str(folder / "other-java"))
    assert archive_of([]) is None


def test_a_jar_that_was_written_again_has_another_archive(folder: Path) -> None:
    jar = folder / "a.jar"
    jar.write_bytes(b"jar")
    here = folder / _name([jar], 1)
    here.write_bytes(b"x")
    assert archive_of([jar]) == here
    os.utime(jar, (0, 0))
    assert archive_of([jar]) is None


def test_sessions_run_with_the_one_that_setup_made(spark: SparkSession) -> None:
    path = archive_of(delta_jars())
    assert path is not None, "make setup makes it: python -m pulsar_backlog.spark.class_archive"
    jvm = spark._jvm
    assert jvm is not None
    mapped = Path(f"/proc/{jvm.java.lang.ProcessHandle.current().pid()}/maps").read_text()
    assert str(path) in mapped, "the JVM does not take it"
