"""Processes of a session that somebody started, by /proc: Linux only."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

POLL_SECONDS = 0.02
_DAEMON = "\0-m\0pulsar_backlog.spark.daemon\0"
_TASKS = "\0-m\0pulsar_backlog.tasks.worker\0"


def members(session: int) -> Iterator[int]:
    """Processes of a session that run; PySpark's daemon has a process group of its own, but no session."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, its_session = path.read_text().rpartition(")")[2].split()[:4]
            if int(its_session) == session and state != "Z":
                yield int(path.parent.name)


def kill_session(session: int) -> None:
    """Kill all processes of a session, also those that are being made meanwhile."""
    while left := list(members(session)):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(POLL_SECONDS)


def processes_of_kind(session: int, kind: str) -> list[int]:
    """The `java`, `launcher` (the short Java before it), `daemon`, `worker`, `server` or `task` processes of a session.

    Spark has workers, forked by its daemon; a small audit has tasks, forked by their server, instead of all of them.
    """
    lines = {}
    for pid in members(session):
        with suppress(OSError):
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            lines[pid] = (parent, Path(f"/proc/{pid}/cmdline").read_text(errors="replace"))
    return [pid for pid, (parent, line) in lines.items() if _kind(line, lines.get(parent, (0, ""))[1]) == kind]


def _kind(line: str, parent: str) -> str | None:
    if "\0org.apache.spark.launcher.Main\0" in line:
        return "launcher"
    if "\0org.apache.spark.deploy.SparkSubmit\0" in line and "java\0" in line:
        return "java"
    if _TASKS in line:
        return "task" if _TASKS in parent else "server"
    if _DAEMON in line:
        return "worker" if _DAEMON in parent else "daemon"
    return None
