"""What libraries read of the environment: settled for the program's own process, unless the user says otherwise."""

from __future__ import annotations

import pytest

from tests.processes import fresh_python

PROGRAM = """
import sys
from pulsar_backlog import cli, command_line

def run():
    import os, pyarrow
    print(pyarrow.default_memory_pool().backend_name, os.environ["OPENBLAS_NUM_THREADS"])
    return 0

command_line.run = run
assert "pyarrow" not in sys.modules and "numpy" not in sys.modules
cli.main()
"""


@pytest.mark.parametrize(("said", "used"), [(None, "system 1"), ("jemalloc", "jemalloc 1")])
def test_the_program_takes_memory_as_is_settled(monkeypatch: pytest.MonkeyPatch, said: str | None, used: str) -> None:
    for name in ("ARROW_DEFAULT_MEMORY_POOL", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    if said is not None:
        monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", said)
    done = fresh_python("-c", PROGRAM)
    assert done.stdout.strip() == used, done.stderr
