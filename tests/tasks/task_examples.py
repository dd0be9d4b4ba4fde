"""Tasks that workers of tests run: pickle finds them here."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from pulsar_backlog.errors import SourceError
from pulsar_backlog.tasks.shared import SharedValue


@dataclass(frozen=True)
class Multiply:
    """Its input times a shared number, and the process that says so."""

    factor: SharedValue[int]

    def __call__(self, number: int) -> tuple[int, int]:
        print("a library's words")  # noqa: T201 - as libraries do
        return number * self.factor.value, os.getpid()


def wait_a_little(number: int) -> int:
    """Its process, once it had time for another one to work too."""
    time.sleep(0.2 + 0 * number)
    return os.getpid()


def wait_for_long(number: int) -> None:
    """Longer than a test may take."""
    time.sleep(60 + 0 * number)


def fail(number: int) -> int:
    """Raise an exception that pickle knows."""
    if number == 3:
        raise SourceError("s3://b/k", "not_found", "gone")
    return number


class OfItsOwnError(Exception):
    """An exception that cannot be made of its words."""

    def __init__(self, one: int, *, two: int) -> None:
        super().__init__(f"{one} and {two}")


def fail_oddly(number: int) -> int:
    """Raise it."""
    raise OfItsOwnError(number, two=2)


def die(number: int) -> int:
    """End the process at the third input."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def tell_and_wait(path: str) -> None:
    """Say in a file which process this is, and go on for long."""
    Path(path).write_text(f"{os.getpid()}\n", "ascii")
    time.sleep(600)


def modules(_: int) -> list[str]:
    """What is imported."""
    return sorted(sys.modules)


def memory_pool(_: int) -> str:
    """Where Arrow takes memory from."""
    return str(pa.default_memory_pool().backend_name)


_loads: list[None] = []


def load_example(_: None) -> None:
    """What a process apart loads; it notes how often."""
    _loads.append(_)


def fail_to_load(_: None) -> None:
    """What cannot be loaded."""
    fail(3)


def loads(_: int) -> int:
    """How often `load_example` was called in this process."""
    return len(_loads)
