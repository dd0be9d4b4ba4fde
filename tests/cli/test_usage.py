"""The door of the program: a user's mistake is one sentence and exit code 2, and starts no Spark."""

from __future__ import annotations

import os
import platform
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from pulsar_backlog import __version__
from pulsar_backlog.cli import run_cli
from pulsar_backlog.logs import VERBOSE_VARIABLE
from pulsar_backlog.versions import PACKAGES, described
from tests.auditing import OBJECTS

ROOT = Path(__file__).parents[2]


def run(monkeypatch: pytest.MonkeyPatch, *argv: str | Path) -> int:
    """The exit code of the program."""
    monkeypatch.setattr(sys, "argv", ["pulsar-backlog", *map(str, argv)])
    with pytest.raises(SystemExit) as ended:
        run_cli()
    return int(ended.value.code or 0)


def test_version(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--version") == 0
    first, python, *packages = capsys.readouterr().out.splitlines()
    assert re.fullmatch(rf"pulsar-backlog {re.escape(__version__)} \(commit [0-9a-f]{{12}}(-dirty)?\)", first)
    assert python.startswith(f"python {platform.python_version()} on ")
    assert f"pyspark {metadata.version('pyspark')}" in packages


def test_version_names_every_dependency() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert [re.match(r"[\w-]+", one)[0] for one in declared] == list(PACKAGES)  # type: ignore[index]


def test_a_checkout_without_git_has_no_commit(tmp_path: Path) -> None:
    assert described(tmp_path) is None


@pytest.mark.parametrize(
    "command", ["audit", "run", "estimate", "explain", "sql", "snapshot", "rebuild-index", "repair"]
)
def test_help_of_each_command(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, command, "--help") == 0
    assert "Usage: pulsar-backlog" in capsys.readouterr().out


@pytest.mark.parametrize(("asked", "shown"), [((), None), (("--verbose",), "1")])
def test_verbose_lets_everything_through(
    asked: tuple[str, ...], shown: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(VERBOSE_VARIABLE, "")
    assert run(monkeypatch, "audit", tmp_path / "none", "--out", tmp_path / "out", *asked) == 2
    assert (os.environ[VERBOSE_VARIABLE] or None) == shown


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        ((), "Usage: pulsar-backlog"),
        (("frob",), "frob"),
        (("audit",), "SOURCE"),
        (("audit", "SOURCE"), "--out"),
        (("audit", "SOURCE", "--out", "OUT", "--bogus"), "--bogus"),
        (("audit", "SOURCE", "--out", "OUT", "--fail-on", "maybe"), "--fail-on"),
        (("audit", "SOURCE", "--out", "OUT", "--ledger", "9-3"), "--ledger: '9-3'"),
        (("audit", "SOURCE", "--out", "OUT", "--ledger", "-1"), "--ledger"),
        (("audit", "SOURCE", "--out", "OUT", "--since", "yesterday"), "--since: 'yesterday'"),
        (("audit", "SOURCE", "--out", "OUT", "--until", "2026-13-01"), "--until: '2026-13-01'"),
        (("audit", "SOURCE", "--out", "OUT", "--cluster", ""), "--cluster"),
        (("audit", "s3://me:word@bucket", "--out", "OUT"), "--source"),
        (("audit", "SOURCE", "--out", "a`b"), "--out"),
        (("run", "no-such-pipeline"), "no-such-pipeline"),
        (("run", "audit", "--source", "SOURCE"), "--out"),
        (("explain", "SOURCE", "22"), "'22' is not a position"),
        (("explain", "SOURCE", "22:99"), "entry 99"),
        (("explain", "SOURCE", "9999:0"), "ledger 9999"),
        (("explain", "MISSING", "22:0"), "no-such-folder"),
        (("sql", "MISSING", "SELECT 1"), "no-such-folder"),
    ],
)
def test_a_mistake_is_named(
    argv: tuple[str, ...],
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    places = {"SOURCE": str(OBJECTS), "OUT": str(tmp_path / "out"), "MISSING": str(tmp_path / "no-such-folder")}
    assert run(monkeypatch, *(places.get(word, word) for word in argv)) == 2
    said = capsys.readouterr()
    assert named in said.err + said.out
    assert "Traceback" not in said.err
    assert "word@" not in said.err
    assert not (tmp_path / "out").exists()
