"""Our wheel on each Python, Spark and Java that it says it runs on: the same tables, answers, exports and plans."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from scripts.compare_audits import differing
from tests.auditing import ADMIN, OBJECTS, Audited
from tests.versions.environments import MATRIX, ROOT, Versions, environment, install, java_home

QUERY = "SELECT topic, state, count(*) AS n FROM chunked_messages GROUP BY topic, state ORDER BY 1, 2"
_QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
"""Options of every JVM: one tier of compilers is done sooner with short runs."""
VERSIONS = "SELECT DISTINCT versions['spark'] AS spark, versions['python'] AS python FROM runs"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", out, ROOT]
    subprocess.run(command, check=True)
    (made,) = out.glob("*.whl")
    return made


class Program:
    """The installed program of one environment, which sees nothing of the repository."""

    def __init__(self, versions: Versions, wheel: Path, folder: Path) -> None:
        home, self._place = java_home(versions.java), environment(versions)
        install(self._place, wheel)
        # The session that made the bundled audit left the Python of its workers in PYSPARK_PYTHON.
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHONPATH", "SPARK_", "PYSPARK_"))}
        self._variables = {**clean, "JAVA_HOME": str(home), "JDK_JAVA_OPTIONS": _QUICK}
        self.versions, self.out, self.audited = versions, folder / "out", folder / "audited"

    def run(self, *arguments: str | Path, codes: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run(
            [self._place / "bin" / "pulsar-backlog", *arguments], cwd=self.out.parent, env=self._variables,
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode in codes, f"{self.versions}: {arguments[0]} ended with {done.returncode}: {done.stderr}"
        return done.stdout

    def work(self) -> Program:
        """An audit, kept apart as it was, an export and a plan."""
        self.run("audit", OBJECTS, "--admin", ADMIN, "--out", self.out, "--cluster", "demo", "--fail-on", "never")
        shutil.copytree(self.out / "tables", self.audited / "tables")
        self.run("export", self.out, codes=(0, 1))
        self.run("repair", "plan", self.out)
        return self


@pytest.fixture(scope="session")
def worked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Versions], Program]:
    """What each environment made; once."""
    return cache(lambda versions: Program(versions, wheel, tmp_path_factory.mktemp(str(versions))).work())


@pytest.mark.parametrize("versions", MATRIX, ids=str)
def test_its_tables_are_those_of_every_other(
    versions: Versions, worked: Callable[[Versions], Program], bundled: Audited, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = worked(versions)
    assert differing(bundled.out, mine.audited) == 0, capsys.readouterr().out
    assert differing(worked(MATRIX[0]).out, mine.out) == 0, capsys.readouterr().out
    assert (mine.out / "tables" / "messages").is_dir()
    assert (mine.out / "tables" / "repair_actions").is_dir()


@pytest.mark.parametrize("versions", MATRIX, ids=str)
def test_both_engines_answer_alike(versions: Versions, worked: Callable[[Versions], Program]) -> None:
    mine = worked(versions)
    answers = {mine.run("sql", mine.out, QUERY, "--engine", engine) for engine in ("duckdb", "spark")}
    assert len(answers) == 1
    assert mine.run("sql", mine.out, VERSIONS).splitlines()[1].startswith(f"{versions.spark}.")
