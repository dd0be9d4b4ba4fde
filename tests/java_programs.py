"""Java programs of one source file that are told line by line what to do, and write down the records that they read."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

Record = tuple[int, bytes]


def answers(source: Path, classes: str, opened: Sequence[str], lines: Sequence[str]) -> list[str]:
    """What the program says, line by line.

    Args:
        source: the program.
        classes: its class path.
        opened: packages of Java's own that its libraries reach into.
        lines: what it is told.
    """
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    reached = [word for package in opened for word in ("--add-opens", f"{package}=ALL-UNNAMED")]
    command = [str(java), *reached, "-cp", classes, str(source)]
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
