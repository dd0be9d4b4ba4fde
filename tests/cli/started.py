"""A command as a process of its own, with the processes that it starts, told apart by their session."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pulsar_backlog.config import load_pipelines
from tests.auditing import ADMIN, OBJECTS

WAIT_SECONDS = 120
PROGRAM = ("-m", "pulsar_backlog.cli")
_DAEMON = "\0-m\0pulsar_backlog.spark.daemon\0"
_TASKS = "\0-m\0pulsar_backlog.tasks.worker\0"


class Started:
    """The running command.

    Attributes:
        process: that of the program.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def interrupt(self) -> tuple[int, str, float]:
        """Ctrl-C, as a terminal sends it: to all processes. Exit code, what was said, and seconds until the end."""
        began = time.monotonic()
        self._signal_all(signal.SIGINT)
        _, said = self.process.communicate(timeout=WAIT_SECONDS)
        return self.process.returncode, said, time.monotonic() - began

    def kill(self, kind: str) -> tuple[int, str]:
        """End one `kind` of process as a system without memory does; exit code, and what was said."""
        for pid in self.wait_for(kind):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _, said = self.process.communicate(timeout=WAIT_SECONDS)
        return self.process.returncode, said

    def wait_for_import(self, module: str) -> None:
        """Wait until a module is imported, of a program that says so (PYTHONPROFILEIMPORTTIME)."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if line.split("|")[-1].strip() == module:
                return

    def _signal_all(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def wait_for(self, kind: str) -> list[int]:
        """Process ids of a kind that the command has, once it has any: one of those of `pids`.

        `spark` is the `java` that is to run Spark, `launcher` the short one before it that works out its command line.
        A `task` is a process that runs tasks without Spark; the `server` forks them.
        """
        ends = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < ends and self.process.poll() is None:
            if found := self.pids()[kind]:
                return found
            time.sleep(0.01)
        raise AssertionError(f"no {kind}: {self.process.communicate()[1]}")

    def pids(self) -> dict[str, list[int]]:
        """Process ids by what the processes are, of those that run."""
        kinds = ("java", "spark", "launcher", "daemon", "worker", "server", "task", "all")
        found: dict[str, list[int]] = {kind: [] for kind in kinds}
        lines = dict(_processes_of(self.process.pid))
        for pid, (parent, line) in sorted(lines.items()):
            found["all"].append(pid)
            if "java\0" in line and "\0org.apache.spark.deploy.SparkSubmit\0" in line:
                found["java"].append(pid)
                found["launcher" if "\0org.apache.spark.launcher.Main\0" in line else "spark"].append(pid)
            elif _TASKS in line:
                found["task" if _TASKS in lines.get(parent, (0, ""))[1] else "server"].append(pid)
            elif _DAEMON in line:
                found["worker" if _DAEMON in lines.get(parent, (0, ""))[1] else "daemon"].append(pid)
        return found


def _processes_of(session: int) -> Iterator[tuple[int, tuple[int, str]]]:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent, _, its_session = folder.joinpath("stat").read_text().rpartition(")")[2].split()[:4]
            if int(its_session) == session and state != "Z":
                yield int(folder.name), (int(parent), folder.joinpath("cmdline").read_text())


@contextmanager
def started(*argv: str | Path, program: Sequence[str] = PROGRAM, **environment: str) -> Iterator[Started]:
    """The program, or a job file, with these arguments."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    with subprocess.Popen(
        [sys.executable, *program, *map(str, argv)], env=env, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            yield Started(process)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def audit_of(out: Path) -> list[str | Path]:
    """Arguments of an audit of the bundled backlog."""
    return ["audit", OBJECTS, "--admin", ADMIN, "--cluster", "demo", "--out", out]


def by_spark(folder: Path) -> list[str | Path]:
    """Options that have an audit use Spark, which a small one does not need: somebody chose a setting of it."""
    audit: dict[str, object] = load_pipelines().pipelines["audit"].model_dump(mode="json", exclude_defaults=True)
    path = folder / "by-spark.yaml"
    path.write_text(json.dumps({"pipelines": {"audit": audit | {"spark": {"spark.master": "local[2]"}}}}))
    return ["--config", path]
