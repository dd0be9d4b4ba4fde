"""What begins beside work for which this process only waits: the start of Java, and tasks of other processes."""

from __future__ import annotations

from collections.abc import Callable

_beginnings: set[Callable[[], None]] = set()


def when_waiting(begin: Callable[[], None]) -> None:
    """Let this be called each time that this process is about to wait some seconds; it returns at once."""
    _beginnings.add(begin)


def begin_all() -> None:
    """Call them, as this process is about to wait."""
    for begin in _beginnings:
        begin()
