"""`doctor`: a sentence for each thing that a run needs; exit 2 where one is wrong."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from pulsar_backlog.commands.doctor import PYTHONS
from tests.auditing import OBJECTS
from tests.processes import fresh_python


def doctor(*argv: str | Path, **environment: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """Exit code, and what was said of each thing: the word and the last sentence."""
    done: subprocess.CompletedProcess[str] = fresh_python(
        "-m", "pulsar_backlog.cli", "doctor", *map(str, argv), **environment
    )
    assert done.stderr == ""
    said = {}
    for line in done.stdout.splitlines():
        word, _, rest = line.partition(" ")
        name, _, sentence = rest.strip().partition(": ")
        said[name] = (word, sentence)
    return done.returncode, said


def test_where_all_is_there_every_line_is_ok(tmp_path: Path) -> None:
    code, said = doctor(OBJECTS, "--out", tmp_path / "not-yet")
    assert code == 0
    assert list(said) == ["Python", "Java", "jars", "disk", "configuration", "variables", "source"]
    assert {word for word, _ in said.values()} == {"ok"}
    assert not (tmp_path / "not-yet").exists()


def test_it_takes_every_python_that_the_package_allows() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    wanted = SpecifierSet(project["requires-python"])
    assert [f"3.{minor}" for minor in range(9, 20) if f"3.{minor}" in wanted] == [f"{a}.{b}" for a, b in PYTHONS]


def test_without_a_source_it_says_what_was_not_looked_at() -> None:
    code, said = doctor()
    assert code == 0
    assert said["source"] == ("note", "not looked at: name a SOURCE to check endpoint and credentials too")


def test_jars_that_must_be_fetched_are_no_fault_but_told(tmp_path: Path) -> None:
    code, said = doctor(PULSAR_BACKLOG_JARS=str(tmp_path))
    assert code == 0
    assert said["jars"][0] == "note"
    assert f"is not in {tmp_path}: the first audit fetches it" in said["jars"][1]
    assert list(tmp_path.iterdir()) == []


def test_each_fault_is_one_sentence_and_the_rest_is_looked_at_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("default: {}")
    code, said = doctor(
        tmp_path, "--config", tmp_path / "mine.yaml", JAVA_HOME=str(tmp_path), PULSAR_BACKLOG_CLUSTR="eu-1"
    )
    assert code == 2
    assert {name for name, (word, _) in said.items() if word == "wrong"} == {
        "Java", "configuration", "variables", "source",
    }  # fmt: skip
    assert said["Java"][1].startswith(f"JAVA_HOME is {tmp_path}, where there is no bin/java: install Java")
    assert said["configuration"][1] == f"{tmp_path / 'mine.yaml'}: default: unknown key"
    assert said["variables"][1] == (
        "PULSAR_BACKLOG_CLUSTR is set, and no option has it: PULSAR_BACKLOG_CLUSTER may be meant"
    )
    assert "holds no offloaded ledger" in said["source"][1]


JAVA = """#!/bin/sh
case "$*" in *add-modules=jdk.incubator.vector*)
  echo "Error occurred during initialization of boot layer"
  echo "java.lang.module.FindException: Module jdk.incubator.vector not found"
  exit 1;;
esac
exec {java} "$@"
"""
"""A Java as some distributions pack it: of a right version, but without a module that Spark asks for."""


def test_java_is_started_with_the_modules_that_spark_asks_for(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(JAVA.format(java=shutil.which("java")))
    java.chmod(0o755)
    code, said = doctor(JAVA_HOME=str(tmp_path))
    assert code == 2
    assert said["Java"] == (
        "wrong",
        f"{java} does not start as Spark starts it: install Java 17 or 21 and set JAVA_HOME to its folder; it says: "
        "java.lang.module.FindException: Module jdk.incubator.vector not found",
    )


def test_brokers_need_their_web_service_and_are_asked_themselves(dead_port: int) -> None:
    code, said = doctor("pulsar://127.0.0.1:6650")
    assert code == 2
    assert "--admin-url" in said["source"][1]
    code, said = doctor("pulsar://127.0.0.1:6650", "--admin-url", f"http://127.0.0.1:{dead_port}")
    assert code == 2
    assert f"http://127.0.0.1:{dead_port}" in said["source"][1]


def test_a_variable_of_an_option_is_known() -> None:
    code, said = doctor(PULSAR_BACKLOG_REPAIR_PLAN_TOPIC="*/a", PULSAR_BACKLOG_CLUSTER="eu-1")
    assert code == 0
    assert said["variables"] == ("ok", "set are PULSAR_BACKLOG_CLUSTER, PULSAR_BACKLOG_REPAIR_PLAN_TOPIC")


@pytest.fixture
def dead_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_an_endpoint_where_nobody_listens_is_named(dead_port: int) -> None:
    code, said = doctor("s3://b", "--endpoint", f"http://127.0.0.1:{dead_port}")
    assert code == 2
    assert said["source"][0] == "wrong"
    assert f"--endpoint http://127.0.0.1:{dead_port}: nothing listens there" in said["source"][1]
