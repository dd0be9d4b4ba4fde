"""Messages of two logs matched by origin, as arrays: which are the same, and what is left over on either side.

    what                                             which rows
    same origin, same content, on both sides         pairs, in the order of either log
    left, and more of the origin than messages       `duplicate`: first what has a pair, then the last in the log
    left on both sides                               `content`: pairs of one origin
    left on one side, its like at another time there pairs
    left on one side                                 `missing` on the other

What is left on both sides of one producer and sequence id with the same content is the same message too: whoever
batches anew (PIP-495) gives all members of a batch one publish time.

How many messages an origin is of, the log tells: members of a batch without sequence ids of their own share one, and
lie in one entry. So it is the most that any entry of either side holds, or that differ on one side; more of them are
copies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Copies:
    """Stored messages of one side, in the order of its log; arrays of equal length.

    `origin` is a hash of producer, sequence id and publish time, `sender` of the former two.
    """

    origin: Int64s
    content: Int64s
    ordinal: Int64s
    sender: Int64s

    def __len__(self) -> int:
        return len(self.origin)


@dataclass(frozen=True)
class Matches:
    """Places in the arrays of the two sides.

    Attributes:
        same: of pairs that are equal, in `a` and in `b`.
        content: of pairs of one origin with other content, likewise.
        duplicate: of what is stored once more than the other side stores it, by side.
        missing: of what the other side does not store, by the side that has it.
    """

    same: tuple[Int64s, Int64s]
    content: tuple[Int64s, Int64s]
    duplicate: tuple[Int64s, Int64s]
    missing: tuple[Int64s, Int64s]


def match(a: Copies, b: Copies) -> Matches:
    """Match all messages of two sides, or of all buckets of them that differ."""
    origin = np.concatenate((a.origin, b.origin))
    content = np.concatenate((a.content, b.content))
    ordinal = np.concatenate((a.ordinal, b.ordinal))
    side = np.repeat(np.array([0, 1]), (len(a), len(b)))
    place = np.concatenate((np.arange(len(a)), np.arange(len(b))))
    order = np.lexsort((place, side, content, origin))
    origin, content, ordinal, side, place = (column[order] for column in (origin, content, ordinal, side, place))
    by_origin = _groups(origin)
    by_content = _groups(by_origin, content)
    counts = [_counts(by_content, side == one) for one in (0, 1)]
    paired = np.minimum(*counts)[by_content] if len(order) else np.empty(0, dtype=np.int64)
    is_paired = _number_in(by_content, side) < paired
    same = tuple(place[is_paired & (side == one)] for one in (0, 1))
    unpaired = np.flatnonzero(~is_paired)
    messages = np.ones(by_origin[-1] + 1 if len(order) else 0, dtype=np.int64)
    np.maximum.at(messages, by_origin, ordinal + 1)
    begins = np.flatnonzero(np.diff(by_content, prepend=-1))
    for count in counts:  # what differs is no copy
        np.maximum(messages, _counts(by_origin[begins], count > 0), out=messages)
    stored = [_counts(by_origin, side == one) for one in (0, 1)]
    surplus = np.stack([np.maximum(count - messages, 0) for count in stored])
    rest = _Rest(by_origin[unpaired], side[unpaired], place[unpaired], paired[unpaired] > 0, ordinal[unpaired])
    is_duplicate = rest.duplicates(surplus)
    partner = rest.partners(~is_duplicate)
    missing = _by_side(rest, ~is_duplicate & ~partner)
    others = _with_other_times(a, b, missing)
    return Matches(
        same=(np.concatenate((same[0], others[0])), np.concatenate((same[1], others[1]))),
        content=_by_side(rest, partner),
        duplicate=_by_side(rest, is_duplicate),
        missing=(np.setdiff1d(missing[0], others[0]), np.setdiff1d(missing[1], others[1])),
    )


def _with_other_times(a: Copies, b: Copies, missing: tuple[Int64s, Int64s]) -> tuple[Int64s, Int64s]:
    """Pairs of what is left on both sides: of one sender and content, in the order of either log."""
    place = np.concatenate(missing)
    side = np.repeat(np.array([0, 1]), (len(missing[0]), len(missing[1])))
    sender = np.concatenate((a.sender[missing[0]], b.sender[missing[1]]))
    content = np.concatenate((a.content[missing[0]], b.content[missing[1]]))
    order = np.lexsort((place, side, content, sender))
    place, side, sender, content = (column[order] for column in (place, side, sender, content))
    group = _groups(sender, content)
    if not len(group):
        return place, place
    paired = np.minimum(*(_counts(group, side == one) for one in (0, 1)))[group]
    is_paired = _number_in(group, side) < paired
    return place[is_paired & (side == 0)], place[is_paired & (side == 1)]


@dataclass(frozen=True)
class _Rest:
    """Rows without a pair, by origin, side and place in the log."""

    origin: Int64s
    side: Int64s
    place: Int64s
    is_stored_there: Bools
    ordinal: Int64s

    def duplicates(self, surplus: Int64s) -> Bools:
        """Which are surplus: of those the log has too many of, such as the other side has too, and the last ones."""
        order = np.lexsort((-self.place, ~self.is_stored_there, self.side, self.origin))
        numbers = np.empty(len(order), dtype=np.int64)
        numbers[order] = _number_in(self.origin[order], self.side[order])
        return np.asarray(numbers < surplus[self.side, self.origin])

    def partners(self, among: Bools) -> Bools:
        """Which have one of the same origin on the other side, the first with the first."""
        chosen = np.flatnonzero(among)
        order = chosen[np.lexsort((self.place[chosen], self.ordinal[chosen], self.side[chosen], self.origin[chosen]))]
        group = _groups(self.origin[order])
        counts = [_counts(group, self.side[order] == one) for one in (0, 1)]
        partner = np.zeros(len(self.origin), dtype=np.bool_)
        if len(order):
            partner[order] = _number_in(group, self.side[order]) < np.minimum(*counts)[group]
        return partner


def _by_side(rest: _Rest, chosen: Bools) -> tuple[Int64s, Int64s]:
    """Places of chosen rows; those of pairs stand at the same index, for both sides are ordered alike."""
    order = np.lexsort((rest.place, rest.ordinal, rest.origin))
    ordered = order[chosen[order]]
    return rest.place[ordered[rest.side[ordered] == 0]], rest.place[ordered[rest.side[ordered] == 1]]


def _groups(*columns: Int64s) -> Int64s:
    """The number of the group that each row is in, from 0; rows of one group stand together."""
    begins = np.zeros(len(columns[0]), dtype=np.bool_)
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return np.cumsum(begins)


def _counts(groups: Int64s, chosen: Bools) -> Int64s:
    """How many chosen rows each group has."""
    size = int(groups[-1]) + 1 if len(groups) else 0
    return np.bincount(groups[chosen], minlength=size).astype(np.int64)


def _number_in(*columns: Int64s) -> Int64s:
    """The number of each row among those that are equal to it in all columns and stand together, from 0."""
    groups = _groups(*columns)
    begins = np.concatenate((np.zeros(1, dtype=np.int64), np.flatnonzero(np.diff(groups)) + 1))
    return np.arange(len(groups)) - (begins[groups] if len(groups) else 0)
