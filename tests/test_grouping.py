"""Cutting into groups: every item once, in order, within both limits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.grouping import groups_of


@given(sizes=st.lists(st.integers(0, 9)), most=st.integers(1, 4), most_bytes=st.integers(1, 12))
def test_groups_are_as_long_as_both_limits_allow(sizes: list[int], most: int, most_bytes: int) -> None:
    groups = list(groups_of(sizes, most, most_bytes, lambda size: size))
    assert [size for group in groups for size in group] == sizes
    for group, following in zip(groups, [*groups, None][1:], strict=True):
        assert 1 <= len(group) <= most
        assert sum(group) <= most_bytes or len(group) == 1
        if following is not None:
            assert len(group) == most or sum(group) + following[0] > most_bytes


def test_a_full_group_does_not_wait_for_the_next_item() -> None:
    """What lists objects may take long for the next one, or never find it."""
    seen: list[int] = []

    def listed() -> Iterator[int]:
        for number in count():
            seen.append(number)
            yield number

    assert list(islice(groups_of(listed(), 2), 2)) == [[0, 1], [2, 3]]
    assert seen == [0, 1, 2, 3]
