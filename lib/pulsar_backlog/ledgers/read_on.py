"""Units of one object that follow each other are read as one stretch: none waits for its first bytes.

Nor does the next object: its first bytes are asked for while the last ones of the object before are decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from pulsar_backlog.ledgers.store import Source, Stretch
from pulsar_backlog.ledgers.values import ScanUnit

_Key = tuple[str, int]
"""Path and first byte of a unit."""


def read_on(source: Source, units: Sequence[ScanUnit]) -> Source:
    """The source for one reader who walks these units one after the other."""
    ends: dict[_Key, int] = {}
    following: dict[_Key, _Key] = {}
    after: tuple[_Key, str] | None = None  # and its kind of storage
    for unit in reversed(units):
        if not unit.blocks:
            continue
        first, last = unit.blocks[0], unit.blocks[-1]
        key, end = (unit.path, first.offset), last.offset + last.length
        if after is not None and after[0] == (unit.path, end):
            ends[key] = ends[after[0]]
            if after[0] in following:
                following[key] = following[after[0]]
        else:
            ends[key] = end
            if after is not None and after[1] == unit.kind:
                following[key] = after[0]
        after = key, unit.kind
    return _ReadOn(**vars(source), ends=ends, following=following)


@dataclass(frozen=True)
class _ReadOn(Source):
    """A source whose stretches are kept open for the unit that goes on where one ends.

    Attributes:
        ends: where the last unit ends that goes on from a unit.
        following: the unit that is walked after that one, elsewhere in storage of the same kind.
    """

    ends: Mapping[_Key, int] = field(default_factory=dict, compare=False)
    following: Mapping[_Key, _Key] = field(default_factory=dict, compare=False)
    _waiting: dict[_Key, tuple[ExitStack, Stretch]] = field(default_factory=dict, compare=False)

    @contextmanager
    def ahead(self, path: str, start: int, end: int, sparing_bytes: int = 0) -> Iterator[Stretch]:
        """A stretch that goes on with what the next units need."""
        following = self.following.get((path, start))
        stack, stretch = self._waiting.pop((path, start), (ExitStack(), None))
        for key in [key for key in self._waiting if key != following]:  # nobody goes on with it
            self._waiting.pop(key)[0].close()
        with stack:
            if stretch is None:
                stretch = self._opened(stack, (path, start), end, sparing_bytes)
            if following is not None:
                if following not in self._waiting:
                    elsewhere = ExitStack()
                    self._waiting[following] = elsewhere, self._opened(elsewhere, following, 0, sparing_bytes)
                stretch.continue_with(self._waiting[following][1])
            yield stretch
            last = self.ends.get((path, start), end)
            if end < last:
                self._waiting[path, end] = stack.pop_all(), stretch

    def _opened(self, stack: ExitStack, key: _Key, end: int, sparing_bytes: int) -> Stretch:
        """A stretch from a unit on, to be closed with the stack; it goes to `end` if the unit is not among ours."""
        return stack.enter_context(super().ahead(*key, self.ends.get(key, end), sparing_bytes))
