"""Commands in a bad environment: one sentence, exit code 2, and no Java is started."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.auditing import OBJECTS, copy_ledgers
from tests.cli.started import by_spark
from tests.places import held_elsewhere, mounted

ROOT = Path(__file__).parents[2]


@pytest.fixture
def java(tmp_path: Path) -> Path:
    """A `JAVA_HOME` whose java leaves a trace of whatever but its version is asked of it."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        f'#!/bin/sh\n[ "$1" = -version ] || touch {tmp_path}/started\necho \'openjdk version "17.0.15"\' >&2\n'
    )
    java.chmod(0o755)
    return java.parents[1]


def run(java: Path, *argv: object, **env: str) -> tuple[int, str]:
    """Exit code of the program, and the last line that it said; nothing is on standard output, and Java not started."""
    path = os.pathsep.join([str(ROOT / "lib"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "pulsar_backlog.cli", *map(str, argv)], text=True, capture_output=True, check=False,
        env=os.environ | {"PYTHONPATH": path, "JAVA_HOME": str(java), "AWS_EC2_METADATA_DISABLED": "true", **env},
    )  # fmt: skip
    assert done.stdout == ""
    assert not (java.parent / "started").exists()
    first, *others, last = ["", *done.stderr.splitlines()]
    assert not first
    assert all(re.match(r"\[[12]/10\] ", line) for line in others), done.stderr
    return done.returncode, last


def test_an_empty_folder(java: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, said = run(java, "audit", tmp_path / "empty", "--out", tmp_path / "out")
    assert (code, f"{tmp_path / 'empty'} is empty: " in said) == (2, True)
    assert not (tmp_path / "out" / "tables").exists()


def test_a_topic_that_is_not_there(java: Path, tmp_path: Path) -> None:
    for argv in (("audit",), ("export",)):
        code, said = run(java, *argv, OBJECTS, "--out", tmp_path / "out", "--topic", "*/nope")
        assert (code, "matches --topic */nope: its ledgers are of 51 topics" in said) == (2, True)


def test_a_dead_endpoint(java: Path, tmp_path: Path) -> None:
    argv = ("audit", "s3://bucket", "--endpoint", "http://127.0.0.1:1", "--out", tmp_path / "out")
    code, said = run(java, *argv, AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret")
    assert (code, "nothing listens there (Connection refused)" in said) == (2, True)


def test_no_credentials(java: Path, tmp_path: Path) -> None:
    empty = {name: "" for name in os.environ if name.startswith("AWS_")}
    files = {name: str(tmp_path / "none") for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE")}
    argv = ("audit", "s3://bucket", "--endpoint", "http://127.0.0.1:1", "--out", tmp_path / "out")
    code, said = run(java, *argv, **empty, **files, http_proxy="http://127.0.0.1:1")  # which is not knocked at
    assert (code, "no AWS credentials" in said) == (2, True)


def test_a_java_home_that_is_not_there(tmp_path: Path) -> None:
    source = copy_ledgers(tmp_path / "objects", [24])
    code, said = run(tmp_path / "gone", "audit", source, "--out", tmp_path / "out", *by_spark(tmp_path))
    assert (code, f"JAVA_HOME is {tmp_path / 'gone'}" in said) == (2, True)


def test_a_read_only_out(java: Path, tmp_path: Path) -> None:
    source = copy_ledgers(tmp_path / "objects", [24])
    with mounted(tmp_path / "m", "ro"):
        code, said = run(java, "audit", source, "--out", tmp_path / "m" / "out")
    assert (code, "lies on a read-only file system: choose another --out" in said) == (2, True)


def test_an_out_that_another_run_writes_to(java: Path, tmp_path: Path) -> None:
    source = copy_ledgers(tmp_path / "objects", [24])
    with held_elsewhere(tmp_path / "out") as other:
        code, said = run(java, "audit", source, "--out", tmp_path / "out")
    assert (code, f"pulsar-backlog audit, process {other.pid} on " in said) == (2, True)
