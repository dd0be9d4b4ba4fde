"""The program as it is installed in an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.auditing import ADMIN, OBJECTS
from tests.versions.environments import Versions, environment, install, java_home

_QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
"""Options of every JVM: one tier of compilers is done sooner with short runs."""


class Program:
    """The installed program of one environment, which sees nothing of the repository.

    Attributes:
        versions: of the environment.
        place: its folder.
        variables: of all that runs in it.
        out: folder of an audit.
        audited: its tables, before anything else wrote to them.
    """

    def __init__(self, versions: Versions, wheel: Path, folder: Path) -> None:
        home, self.place = java_home(versions.java), environment(versions)
        install(self.place, wheel)
        # The session that made the bundled audit left the Python of its workers in PYSPARK_PYTHON.
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHONPATH", "SPARK_", "PYSPARK_"))}
        self.variables = {**clean, "JAVA_HOME": str(home), "JDK_JAVA_OPTIONS": _QUICK}
        self.versions, self.out, self.audited = versions, folder / "out", folder / "audited"

    def run(self, *arguments: str | Path, codes: tuple[int, ...] = (0,)) -> str:
        return self._run("pulsar-backlog", *arguments, codes=codes)

    def run_file(self, path: Path, *arguments: str | Path) -> None:
        """A program in a file, which has Spark's session from this Python."""
        self._run("python", path, *arguments, PYSPARK_PYTHON=str(self.place / "bin" / "python"))

    def _run(self, name: str, *arguments: str | Path, codes: tuple[int, ...] = (0,), **own: str) -> str:
        done = subprocess.run(
            [self.place / "bin" / name, *arguments], cwd=self.out.parent, env=self.variables | own,
            capture_output=True, text=True, check=False, timeout=900,
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
