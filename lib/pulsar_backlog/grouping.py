"""Items cut into groups, by number and by bytes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def groups_of(
    items: Iterable[T],
    most: int = sys.maxsize,
    most_bytes: int = sys.maxsize,
    bytes_of: Callable[[T], int] = lambda _: 0,
) -> Iterator[list[T]]:
    """Consecutive items in lists of at most `most` that hold at most `most_bytes`; a larger item has its own list."""
    group: list[T] = []
    group_size = 0
    for item in items:
        size = bytes_of(item)
        if group and group_size + size > most_bytes:
            yield group
            group, group_size = [], 0
        group.append(item)
        group_size += size
        if len(group) == most:
            yield group
            group, group_size = [], 0
    if group:
        yield group
