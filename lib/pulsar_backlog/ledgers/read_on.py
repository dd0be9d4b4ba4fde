"""Units of one object that follow each other are read as one stretch: none waits for its first bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from pulsar_backlog.ledgers.store import Source, Stretch
from pulsar_backlog.ledgers.values import ScanUnit


def read_on(source: Source, units: Sequence[ScanUnit]) -> Source:
    """The source for one reader who walks these units one after the other."""
    ends: dict[tuple[str, int], int] = {}
    goes_on: tuple[str, int] | None = None
    for unit in reversed(units):
        if not unit.blocks:
            continue
        first, last = unit.blocks[0], unit.blocks[-1]
        end = last.offset + last.length
        if goes_on != (unit.path, end):
            ends[unit.path, first.offset] = end
        else:
            ends[unit.path, first.offset] = ends[goes_on]
        goes_on = unit.path, first.offset
    return _ReadOn(source.source, source.endpoint, source.access, source.live, ends=ends)


@dataclass(frozen=True)
class _ReadOn(Source):
    """A source whose stretches are kept open for the unit that goes on where one ends.

    Attributes:
        ends: by path and first byte of a unit where the last unit ends that goes on from it.
    """

    ends: Mapping[tuple[str, int], int] = field(default_factory=dict, compare=False)
    _waiting: dict[tuple[str, int], tuple[ExitStack, Stretch]] = field(default_factory=dict, compare=False)

    @contextmanager
    def ahead(self, path: str, start: int, end: int, sparing_bytes: int = 0) -> Iterator[Stretch]:
        """A stretch that goes on with what the next units need."""
        last = self.ends.get((path, start), end)
        stack, stretch = self._waiting.pop((path, start), (ExitStack(), None))
        while self._waiting:  # nobody goes on with it
            self._waiting.popitem()[1][0].close()
        with stack:
            if stretch is None:
                stretch = stack.enter_context(super().ahead(path, start, last, sparing_bytes))
            yield stretch
            if end < last:
                self._waiting[path, end] = stack.pop_all(), stretch
