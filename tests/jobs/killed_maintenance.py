"""A program of `test_maintain_tables.py`: maintenance of copies of tables, each killed one step further than the last.

A step is a name in the folder that appears, changes or goes. The kill is SIGKILL: nothing of the process runs after it.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

from pulsar_backlog.options import Options
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.steps.maintenance import maintain

_STEPS = ("os.link", "os.remove", "os.rename")


def no_session() -> NoReturn:
    raise AssertionError("these tables need no session, which no fork survives")


def maintained(out: Path) -> None:
    """Maintain the tables of cluster `c` in a folder."""
    maintain(JobContext(no_session, "maintain_tables", Options(out=str(out), cluster="c"), datetime.now(UTC)))


def main() -> None:
    """Maintain copies of a folder below another one, named by the step at which each is killed; the last one is not."""
    template, copies = map(Path, sys.argv[1:])
    for step in count(1):
        out = copies / str(step)
        shutil.copytree(template, out)
        child = os.fork()  # after the imports, and before anything has started threads
        if child == 0:
            _kill_at(step, out)
            maintained(out)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != -signal.SIGKILL:
            return


def _kill_at(step: int, out: Path) -> None:
    steps = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal steps
        if event in _STEPS and any(str(one).startswith(str(out)) for one in arguments):
            steps += 1
            if steps == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


if __name__ == "__main__":
    main()
