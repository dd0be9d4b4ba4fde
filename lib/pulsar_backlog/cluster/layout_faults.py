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
    for first, expected in _seams(ranges, 0, MAX_HASH):
        if first > expected:
            yield f"no active segment has key hashes {expected} to {first - 1}"
        elif first < expected:
            yield f"several active segments have key hash {first}"


def _seams(ranges: Sequence[tuple[int, int]], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Where each range begins, and where the ones before it end; at the end the hash after `last`."""
    expected = first
    for begin, end in [*sorted(ranges), (last + 1, last + 1)]:
        yield begin, expected
        expected = max(expected, end + 1)


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
    ranges = [(child.first_hash, child.last_hash) for child in children]
    return all(begin <= expected for begin, expected in _seams(ranges, one.first_hash, one.last_hash))
