"""What names of segments alone tell of the history of a scalable topic whose layout was not saved.

The name of a segment has its id and its range. Ids rise, a split makes two halves of one range and a merge one range of
two that touch: a new segment is made of those earlier ones whose range it takes over. Where all ids from 0 on are
there, that gives the layout that the broker wrote. Where some are missing (pruned, migrated, not in the source), a
parent may be among them, and which segments are active is not known either.

Source: layouts of 5.0.0-M1, and ScalableTopicController of the same revision (8dae0236).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pulsar_backlog.cluster.layouts import MAX_HASH
from pulsar_backlog.wire.names import SegmentParts


@dataclass(frozen=True)
class GuessedKin:
    """Of which segments one was probably made, and which were probably made of it.

    Attributes:
        sureness: `likely` where all ids up to the highest are there and every step is a split or a merge, else
            `cannot_tell`.
    """

    parents: tuple[int, ...]
    children: tuple[int, ...]
    sureness: str


def guessed_kin(segments: Iterable[SegmentParts]) -> dict[int, GuessedKin]:
    """Parents and children by id, of the segments of one topic."""
    ordered = sorted(segments, key=lambda one: one.segment_id)
    parents: dict[int, tuple[int, ...]] = {}
    uncovered: list[SegmentParts] = []  # parts of ranges that no later segment took over
    roots = []
    for one in ordered:
        met = [part for part in uncovered if part.first_hash <= one.last_hash and one.first_hash <= part.last_hash]
        parents[one.segment_id] = tuple(sorted({part.segment_id for part in met}))
        if not met:
            roots.append((one.first_hash, one.last_hash))
        uncovered = [rest for part in uncovered for rest in _rest(part, one)] + [one]
    whole = [one.segment_id for one in ordered] == list(range(len(ordered)))
    steps = whole and _tile(roots) and all(_is_a_step(one, parents[one.segment_id], ordered) for one in ordered)
    sureness = "likely" if steps else "cannot_tell"
    children: dict[int, list[int]] = {id_: [] for id_ in parents}
    for child, made_of in parents.items():
        for parent in made_of:
            children[parent].append(child)
    return {id_: GuessedKin(of, tuple(children[id_]), sureness) for id_, of in parents.items()}


def _rest(part: SegmentParts, one: SegmentParts) -> Iterable[SegmentParts]:
    """What `one` leaves of a part."""
    if part.first_hash < one.first_hash:
        yield SegmentParts(part.first_hash, min(part.last_hash, one.first_hash - 1), part.segment_id)
    if part.last_hash > one.last_hash:
        yield SegmentParts(max(part.first_hash, one.last_hash + 1), part.last_hash, part.segment_id)


def _tile(ranges: list[tuple[int, int]]) -> bool:
    """Whether the first segments have every key hash once."""
    following = 0
    for first, last in sorted(ranges):
        if first != following:
            return False
        following = last + 1
    return following == MAX_HASH + 1


def _is_a_step(one: SegmentParts, parents: tuple[int, ...], by_id: list[SegmentParts]) -> bool:
    """Whether a split or a merge makes this of its parents; the first segments are made of none."""
    of = [by_id[parent] for parent in parents]
    if len(of) == 1:
        first, last = of[0].first_hash, of[0].last_hash
        middle = (first + last) // 2
        return (one.first_hash, one.last_hash) in ((first, middle), (middle + 1, last))
    return all(one.first_hash <= parent.first_hash and parent.last_hash <= one.last_hash for parent in of)
