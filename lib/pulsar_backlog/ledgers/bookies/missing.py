"""Entry ids that no file has: lost, or on bookies whose files are not here.

With an ensemble larger than the write quorum entry `e` lies on the bookies `e mod E` and those after it, so a part of
the bookies has ids by a pattern. Source:
https://github.com/apache/bookkeeper/blob/9590a97f/bookkeeper-server/src/main/java/org/apache/bookkeeper/client/RoundRobinDistributionSchedule.java
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pulsar_backlog.wire.arrays import Int64s

MAX_ENSEMBLE = 16
"""Largest ensemble whose pattern is looked for."""
_ROUNDS = 4
"""Rounds of a pattern that must be there: fewer may be chance."""


@dataclass(frozen=True)
class Gap:
    """Ids from `first` to `last` of which `count` are not there; `words` say by which pattern, None for all of them."""

    first: int
    last: int
    count: int
    words: str | None = None


def gaps_of(first: int, entries: Int64s, end: int | None = None) -> Iterator[Gap]:
    """What is missing from `first` on between ascending ids, and up to `end` if that is known."""
    after = first if not len(entries) else int(entries[-1]) + 1
    if len(entries):
        pattern = _pattern(entries)
        if pattern is not None and int(entries[0]) - first < MAX_ENSEMBLE:
            missing = after - first - len(entries)
            yield Gap(first, after - 1, missing, pattern)
        else:
            edges = np.concatenate((np.array([first - 1]), entries))
            for at in np.flatnonzero(np.diff(edges) > 1).tolist():
                low, high = int(edges[at]) + 1, int(edges[at + 1]) - 1
                yield Gap(low, high, high - low + 1)
    if end is not None and after < end:
        yield Gap(after, end - 1, end - after)


def _pattern(entries: Int64s) -> str | None:
    """By which ensemble some ids are here and the others are not; None where no one explains it."""
    span = int(entries[-1] - entries[0]) + 1
    if len(entries) == span:
        return None
    for ensemble in range(2, MAX_ENSEMBLE + 1):
        if span < _ROUNDS * ensemble:
            return None
        here = np.unique(entries % ensemble)
        if len(here) < ensemble:
            rounds, rest = divmod(span, ensemble)
            in_rest = int(((here - int(entries[0])) % ensemble < rest).sum())
            if rounds * len(here) + in_rest == len(entries):
                rests = ", ".join(map(str, here.tolist()))
                return f"those whose rest by {ensemble} is {rests}: an ensemble's other bookies have the others"
    return None
