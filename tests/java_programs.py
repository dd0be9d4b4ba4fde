"""Java programs of one source file that are told line by line what to do, and write down the records that they read."""

from __future__ import annotations

import json
import os
import select
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.processes import end

ANSWER_SECONDS = 90

Record = tuple[int, bytes]


class Program:
    """A program that answers each line of words with one of JSON."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log

    def __call__(self, *words: object) -> Any:
        """Its answer to one line."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], ANSWER_SECONDS)
        answer = json.loads(self._process.stdout.readline()) if ready else "no answer"
        assert isinstance(answer, list), f"{words}: {answer}\n{tail(self._log)}"
        return answer


@contextmanager
def running_program(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Iterator[Program]:
    """A program that ends with the block; what it says besides answers is in `clients.log` of the folder."""
    log = folder / "clients.log"
    with log.open("wb") as errors:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=pipe, stdout=pipe, stderr=errors, text=True
        )
    try:
        yield Program(process, log)
    finally:
        end(process)


def tail(log: Path) -> str:
    """The end of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-40:])


def java() -> str:
    """The Java of the tests."""
    return str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java"


def answers(source: Path, classes: str, opened: Sequence[str], lines: Sequence[str]) -> list[str]:
    """What the program says, line by line.

    Args:
        source: the program.
        classes: its class path.
        opened: packages of Java's own that its libraries reach into.
        lines: what it is told.
    """
    reached = [word for package in opened for word in ("--add-opens", f"{package}=ALL-UNNAMED")]
    command = [java(), *reached, "-cp", classes, str(source)]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def records_of(path: Path) -> list[Record]:
    """The records in a file: [ number i64 ][ length i32 ][ bytes ] each."""
    data, at, found = path.read_bytes(), 0, list[Record]()
    while at < len(data):
        number, length = struct.unpack_from(">qi", data, at)
        found.append((number, data[at + 12 : at + 12 + length]))
        at += 12 + length
    return found
