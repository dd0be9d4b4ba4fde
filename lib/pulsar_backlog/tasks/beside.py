"""What is done while this process waits: where a core is idle, and what this process itself has time for."""

from __future__ import annotations

from collections.abc import Callable

_beginnings: set[Callable[[], None]] = set()
_own: set[Callable[[], None]] = set()


def begin_when_idle(begin: Callable[[], None]) -> None:
    """Let this be called each time that a core is idle while this process waits; it returns at once."""
    _beginnings.add(begin)


def do_while_waiting(work: Callable[[], None]) -> None:
    """Let this be called each time that this process waits for another that takes a second; it takes less."""
    _own.add(work)


def begin_all() -> None:
    """Call what begins where a core is idle."""
    for begin in _beginnings:
        begin()


def do_all() -> None:
    """Call what this process has time for."""
    for work in _own:
        work()
