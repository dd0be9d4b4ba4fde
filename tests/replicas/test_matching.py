"""Random logs with planted differences: all of them are found, and none is invented."""

from __future__ import annotations

import numpy as np
import pytest

from pulsar_backlog.replicas.matching import Copies, match
from pulsar_backlog.replicas.order import moved

FAMILIES = 100_000
SEEDS = (1, 20_261_124)


def copies(origin: list[int], content: list[int] | None = None, ordinal: list[int] | None = None) -> Copies:
    """Rows of one side; without content and ordinal each is the only one of its origin."""
    rows = np.array(origin, dtype=np.int64)
    return Copies(
        rows, np.array(content if content is not None else origin, dtype=np.int64),
        np.array(ordinal if ordinal is not None else [0] * len(origin), dtype=np.int64), rows,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # (same, content, duplicate a and b, missing a and b), as places
        pytest.param(copies([1, 2]), copies([2, 1]), ([0, 1], [], [], [], [], []), id="order is another question"),
        pytest.param(copies([1]), copies([]), ([], [], [], [], [0], []), id="missing"),
        pytest.param(copies([]), copies([5, 5]), ([], [], [], [1], [], [0]), id="missing, and twice where it is"),
        pytest.param(copies([1]), copies([1, 1]), ([0], [], [], [1], [], []), id="twice"),
        pytest.param(copies([1, 1]), copies([1, 1]), ([0, 1], [], [], [], [], []), id="twice on both sides"),
        pytest.param(copies([1], [7]), copies([1], [8]), ([], [0], [], [], [], []), id="other content"),
        pytest.param(copies([1], [7]), copies([1, 1], [8, 8]), ([], [0], [], [1], [], []), id="other content, twice"),
        pytest.param(
            copies([1], [7]), copies([1, 1], [7, 8]), ([0], [], [], [], [], [1]), id="what differs is no copy"
        ),
        pytest.param(
            copies([1, 1, 1], [7, 8, 9], [0, 1, 2]), copies([1, 1], [9, 7]), ([0, 2], [], [], [], [1], []),
            id="members without sequence ids: one is missing",
        ),
        pytest.param(
            copies([1, 1], [7, 8], [0, 1]), copies([1, 1, 1], [7, 8, 8]), ([0, 1], [], [], [2], [], []),
            id="members without sequence ids: one is there twice",
        ),
    ],
)  # fmt: skip
def test_rules(a: Copies, b: Copies, expected: tuple[list[int], ...]) -> None:
    found = match(a, b)
    shown = (sorted(found.same[0].tolist()), found.content[0].tolist(), *(one.tolist() for one in found.duplicate),
             *(one.tolist() for one in found.missing))  # fmt: skip
    assert shown == expected


def test_another_publish_time_of_the_same_content_is_the_same_message() -> None:
    """Whoever batches anew gives all members one publish time."""
    rows = copies([1, 2, 3])
    again = Copies(rows.origin + 100, rows.content, rows.ordinal, rows.sender)
    found = match(rows, again)
    assert [one.tolist() for one in found.same] == [[0, 1, 2], [0, 1, 2]]
    assert not [*found.missing[0], *found.missing[1]]
    other = Copies(rows.origin + 100, rows.content + 1, rows.ordinal, rows.sender)
    assert [len(one) for one in match(rows, other).missing] == [3, 3]


def test_fewest_messages_that_one_would_move() -> None:
    one_way = np.zeros(6, dtype=np.int64)
    here = np.arange(6)
    assert moved(one_way, here, np.array([0, 1, 3, 2, 4, 5])).sum() == 1  # neighbours changed places
    assert moved(one_way, here, np.array([5, 0, 1, 2, 3, 4])).tolist() == [True] + [False] * 5  # the first came last
    two_ways = np.array([0, 1, 0, 1, 0, 1])
    assert not moved(
        two_ways, here, np.array([0, 3, 1, 4, 2, 5])
    ).any()  # who overtakes another stream breaks no promise
    none = np.array([], dtype=np.int64)
    assert not moved(none, none, none).any()


def _different(rng: np.random.Generator, count: int) -> np.ndarray:
    """Numbers of which no two are equal."""
    return rng.permutation(np.arange(count, dtype=np.int64)) * 1_000_003 - (1 << 40)


class Planted:
    """A log of families, and the same with differences: what was done to which family."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        sizes = np.where(rng.random(FAMILIES) < 0.1, rng.integers(2, 5, FAMILIES), 1)  # batches without sequence ids
        family = np.repeat(np.arange(FAMILIES), sizes)
        ordinal = np.arange(len(family)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        names = _different(rng, FAMILIES)
        content = _different(rng, len(family))
        deeds = rng.choice(["", "missing a", "missing b", "twice a", "twice b", "content"], FAMILIES,
                           p=[0.8, 0.04, 0.04, 0.04, 0.04, 0.04])  # fmt: skip
        self.deeds = {one: deeds[one] for one in range(FAMILIES) if deeds[one]}
        victim = ordinal == np.repeat(rng.integers(0, 1 << 30, FAMILIES) % sizes, sizes)  # one message of each family
        of_family = deeds[family]
        self._family = family
        sides = []
        for side in "ab":
            rows = np.flatnonzero(~(victim & (of_family == f"missing {side}")))
            again = np.flatnonzero(victim & (of_family == f"twice {side}"))
            places = np.concatenate((rows, again))
            own = content.copy()
            if side == "b":
                own[victim & (of_family == "content")] += 1 << 41
            # each side cuts batches as it likes: members of some lie in entries of their own there
            cut = rng.random(FAMILIES) < 0.5
            numbers = np.where(cut[family[places]] & (side == "b"), 0, ordinal[places])
            numbers[len(rows) :] = 0
            places_of_log = rng.permutation(len(places)) if side == "b" else np.arange(len(places))
            chosen = places[places_of_log]
            origin = names[family[chosen]]
            sides.append((Copies(origin, own[chosen], numbers[places_of_log], origin), chosen))
        (self.a, self.rows_a), (self.b, self.rows_b) = sides

    def families(self, side: str, places: np.ndarray) -> list[int]:
        return self._family[(self.rows_a if side == "a" else self.rows_b)[places]].tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_planted_differences_of_many_families(seed: int) -> None:
    planted = Planted(seed)
    matches = match(planted.a, planted.b)
    found: dict[int, str] = {}
    for deed, side, places in (
        ("missing b", "a", matches.missing[0]), ("missing a", "b", matches.missing[1]),
        ("twice a", "a", matches.duplicate[0]), ("twice b", "b", matches.duplicate[1]),
        ("content", "a", matches.content[0]),
    ):  # fmt: skip
        for family in planted.families(side, places):
            assert family not in found  # one row for one difference
            found[family] = deed
    assert found == planted.deeds
    assert planted.families("a", matches.content[0]) == planted.families("b", matches.content[1])
    assert (planted.a.origin[matches.same[0]] == planted.b.origin[matches.same[1]]).all()
    assert (planted.a.content[matches.same[0]] == planted.b.content[matches.same[1]]).all()
