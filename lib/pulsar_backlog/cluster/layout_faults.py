"""What is wrong inside a layout of a scalable topic, by what brokers keep true of every layout that they write.

| in each layout | else |
|---|---|
| ranges of `ACTIVE` segments tile 0 to 65535 | keys without a segment, or with several |
| ids are below `nextSegmentId`, and each is given once | a split that was cut off, or two writers |
| a child has a higher id than its parents, and meets their ranges | the history leads nowhere |
| parent and child name each other, and both have an entry | the same |
| an `ACTIVE` segment has no children | messages go to a segment that was replaced |
| children of a `SEALED` segment cover its range | keys of which the rest is nowhere |

A pruned segment is gone from the layout, and with it from the lists of its parents and children. A sealed segment
without children is no fault then.

Source: seen in layouts of 5.0.0-M1; ScalableTopicController and SegmentLayout of the same revision (8dae0236).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from pulsar_backlog.cluster.layouts import MAX_HASH, Layout, Segment


def faults_of_layout(layout: Layout) -> Iterator[str]:
    """One clause for each fault, in the order of the table above."""
    yield from _untiled([(one.first_hash, one.last_hash) for one in layout.segments if one.state == "ACTIVE"])
    yield from _misnumbered(layout)
    by_id = {one.segment_id: one for one in layout.segments}
    for one in layout.segments:
        yield from _kinship(one, by_id)


def _untiled(ranges: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Where the ranges of active segments leave key hashes out, or meet."""
    covered = -1
    for first, last in [*sorted(ranges), (MAX_HASH + 1, MAX_HASH + 1)]:
        if first > covered + 1:
            yield f"no active segment has key hashes {covered + 1} to {first - 1}"
        elif first <= covered:
            yield f"several active segments have key hash {first}"
        covered = max(covered, last)


def _misnumbered(layout: Layout) -> Iterator[str]:
    for segment_id, times in Counter(one.segment_id for one in layout.segments).items():
        if segment_id >= layout.next_segment_id:
            yield f"segment {segment_id} is listed, but the next one is to be {layout.next_segment_id}"
        if times > 1:
            yield f"segment {segment_id} is listed {times} times"


def _kinship(one: Segment, by_id: Mapping[int, Segment]) -> Iterator[str]:
    me = f"segment {one.segment_id}"
    for child_id in one.children:
        child = by_id.get(child_id)
        if child is None:
            yield f"{me} has child {child_id}, which has no entry"
        elif one.segment_id not in child.parents:
            yield f"{me} has child {child_id}, which does not name it as a parent"
        elif child_id <= one.segment_id or not _overlap(one, child):
            yield f"{me} has child {child_id}, which cannot be made of it"
    for parent_id in one.parents:
        parent = by_id.get(parent_id)
        if parent is None:
            yield f"{me} has parent {parent_id}, which has no entry"
        elif one.segment_id not in parent.children:
            yield f"{me} has parent {parent_id}, which does not name it as a child"
    children = [by_id[child] for child in one.children if child in by_id]
    if one.state == "ACTIVE" and one.children:
        yield f"{me} is active, and has children"
    elif one.state == "SEALED" and len(children) == len(one.children) > 0 and not _cover(children, one):
        yield f"the children of {me} leave out a part of its key hashes"


def _overlap(one: Segment, other: Segment) -> bool:
    return one.first_hash <= other.last_hash and other.first_hash <= one.last_hash


def _cover(children: Sequence[Segment], one: Segment) -> bool:
    ranges = sorted((child.first_hash, child.last_hash) for child in children)
    ends = [*ranges, (one.last_hash + 1, one.last_hash + 1)]
    covered = one.first_hash - 1
    for (_, before), (first, _) in pairwise([(0, covered), *ends]):
        covered = max(covered, before)
        if first > covered + 1:
            return False
    return True
