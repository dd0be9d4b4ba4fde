"""Layouts as random splits and merges make them: without faults, equal to what names tell, and each damage is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.cluster.layout_faults import faults_of_layout
from pulsar_backlog.cluster.layout_guess import guessed_kin
from pulsar_backlog.cluster.layouts import MAX_HASH, Layout, Segment
from pulsar_backlog.wire.names import SegmentParts

TOPIC = "topic://t/ns/a"


def segment(id_: int, first: int, last: int, **more: Any) -> Segment:
    whole: dict[str, Any] = {
        "name": f"segment://t/ns/a/{first:04x}-{last:04x}-{id_}", "state": "ACTIVE", "parents": (), "children": (),
        "created_epoch": 0, "sealed_epoch": None, "created_ms": None, "sealed_ms": None, "is_legacy": False,
    }  # fmt: skip
    return Segment(segment_id=id_, first_hash=first, last_hash=last, **whole | more)


def layout_of(segments: dict[int, Segment], following: int | None = None) -> Layout:
    return Layout(TOPIC, 0, len(segments) if following is None else following, tuple(segments.values()), "f")


@st.composite
def layouts(draw: st.DrawFn) -> dict[int, Segment]:
    """A topic from its first segments on, split and merged as a broker does it."""
    count = draw(st.integers(1, 5))
    edges = [MAX_HASH * at // count for at in range(count + 1)]
    segments = {at: segment(at, edges[at] + (at > 0), edges[at + 1]) for at in range(count)}
    for _ in range(draw(st.integers(0, 12))):
        active = sorted((one for one in segments.values() if one.state == "ACTIVE"), key=lambda one: one.first_hash)
        at, following = draw(st.integers(0, len(active) - 1)), len(segments)
        one = active[at]
        if draw(st.booleans()) and one.first_hash < one.last_hash:
            middle = (one.first_hash + one.last_hash) // 2
            made, sealed = [(one.first_hash, middle), (middle + 1, one.last_hash)], [one]
        elif at + 1 < len(active):
            made, sealed = [(one.first_hash, active[at + 1].last_hash)], [active[at + 1], one]
        else:
            continue
        children = tuple(range(following, following + len(made)))
        for parent in sealed:
            segments[parent.segment_id] = replace(parent, state="SEALED", children=children)
        parents = tuple(parent.segment_id for parent in sealed)
        for child, (first, last) in zip(children, made, strict=True):
            segments[child] = segment(child, first, last, parents=parents)
    return segments


def parts(segments: dict[int, Segment]) -> list[SegmentParts]:
    return [SegmentParts(one.first_hash, one.last_hash, one.segment_id) for one in segments.values()]


@given(layouts())
def test_what_brokers_write_has_no_faults_and_names_alone_tell_it(segments: dict[int, Segment]) -> None:
    assert list(faults_of_layout(layout_of(segments))) == []
    kin = guessed_kin(parts(segments))
    assert {id_: of.children for id_, of in kin.items()} == {id_: one.children for id_, one in segments.items()}
    assert {id_: set(of.parents) for id_, of in kin.items()} == {id_: set(one.parents) for id_, one in segments.items()}
    assert {of.sureness for of in kin.values()} == {"likely"}


@given(layouts(), st.data())
def test_a_segment_without_its_entry_is_missed(segments: dict[int, Segment], data: st.DataObject) -> None:
    lost = segments.pop(data.draw(st.sampled_from(sorted(segments))))
    faults = list(faults_of_layout(layout_of(segments, following=len(segments) + 1)))
    is_named = {lost.segment_id} & {id_ for one in segments.values() for id_ in (*one.children, *one.parents)}
    assert bool(faults) == bool(is_named or lost.state == "ACTIVE")
    # Ids below the highest are missing, so nothing is likely; without the newest one nobody notices.
    if segments and lost.segment_id < max(segments):
        assert {of.sureness for of in guessed_kin(parts(segments)).values()} == {"cannot_tell"}


SPLIT = {
    0: segment(0, 0, MAX_HASH, state="SEALED", children=(1, 2)),
    1: segment(1, 0, 32767, parents=(0,)),
    2: segment(2, 32768, MAX_HASH, parents=(0,)),
}


@pytest.mark.parametrize(
    ("id_", "change", "fault"),
    [
        (2, {"first_hash": 40000}, "no active segment has key hashes 32768 to 39999"),
        (2, {"first_hash": 32767}, "several active segments have key hash 32767"),
        (2, {"first_hash": 40000}, "the children of segment 0 leave out a part of its key hashes"),
        (0, {"state": "ACTIVE"}, "segment 0 is active, and has children"),
        (0, {"state": "ACTIVE"}, "several active segments have key hash 0"),
        (0, {"children": (1,)}, "segment 2 has parent 0, which does not name it as a child"),
        (0, {"children": (1, 2, 5)}, "segment 0 has child 5, which has no entry"),
        (1, {"parents": ()}, "segment 0 has child 1, which does not name it as a parent"),
        (1, {"parents": (0, 7)}, "segment 1 has parent 7, which has no entry"),
        (2, {"segment_id": 1}, "segment 1 is listed 2 times"),
        (2, {"segment_id": 3}, "segment 3 is listed, but the next one is to be 3"),
    ],
)
def test_each_fault(id_: int, change: dict[str, Any], fault: str) -> None:
    assert list(faults_of_layout(layout_of(SPLIT))) == []
    assert fault in list(faults_of_layout(layout_of(SPLIT | {id_: replace(SPLIT[id_], **change)})))


def test_a_child_that_cannot_be_made_of_its_parent() -> None:
    swapped = {
        0: segment(0, 0, MAX_HASH, parents=(1,)),
        1: segment(1, 0, MAX_HASH, state="SEALED", children=(0,)),
    }
    assert list(faults_of_layout(layout_of(swapped))) == ["segment 1 has child 0, which cannot be made of it"]


def test_several_segments_within_one_are_named_once_each() -> None:
    nested = {0: segment(0, 0, MAX_HASH), 1: segment(1, 100, 200), 2: segment(2, 300, 400)}
    assert list(faults_of_layout(layout_of(nested))) == [
        "several active segments have key hash 100",
        "several active segments have key hash 300",
    ]
