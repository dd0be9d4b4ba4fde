"""Segments of scalable topics: a row for each status and each fault, and the layouts of a real 5.0.0-M1."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.stored_values import StoredValue
from pulsar_backlog.cluster.values import ClusterState, TopicState
from pulsar_backlog.findings import Finding
from pulsar_backlog.reconciliation.segments import SegmentState, Stored, findings_of_segments, segment_states
from tests.auditing import DATA

TOPIC = "topic://t/ns/a"
PULSAR5 = DATA / "pulsar5"


def segment(id_: int, first: int, last: int, state: str = "ACTIVE", **more: Any) -> dict[str, Any]:
    span = {"start": first, "end": last}
    return {"segmentId": id_, "hashRange": span, "state": state, "parentIds": [], "childIds": [], **more}


SPLIT = (segment(0, 0, 65535, "SEALED"), segment(1, 0, 32767), segment(2, 32768, 65535))


def name(id_: int, span: str = "0000-7fff") -> str:
    return f"segment://t/ns/a/{span}-{id_}"


def saved(
    tmp_path: Path, *segments: dict[str, Any], following: int = 3, registered: tuple[str, ...] = ()
) -> ClusterState:
    """What a dump with this layout says; no segments: no layout."""
    layout = {"epoch": 1, "nextSegmentId": 3, "segments": {str(one["segmentId"]): one for one in segments}}
    nodes = {f"/topics/t/ns/a/subscriptions/{one}": b"" for one in registered}
    if segments:
        nodes["/topics/t/ns/a"] = json.dumps(layout).encode()
    dump = {path: {"b64": base64.b64encode(value).decode()} for path, value in nodes.items()}
    (tmp_path / "dump.json").write_text(json.dumps(dump | {"/managed-ledgers/x": {"b64": ""}}))
    return read_cluster_state(tmp_path, {})


def with_topics(state: ClusterState, **terminated: bool) -> ClusterState:
    """Managed ledgers of segments by their descriptor."""
    names = {f"segment://t/ns/a/{key.strip('_').replace('_', '-')}": of for key, of in terminated.items()}
    values = tuple(StoredValue(one, None, b"", "dump.json") for one in names)
    return replace(
        state, topics={one: TopicState(one, terminated=of) for one, of in names.items()}, stored_values=values
    )


def findings_but_unread(segments: list[SegmentState], state: ClusterState | None) -> list[Finding]:
    """Without S54, which these little clusters get for segments that they say nothing of."""
    return [one for one in findings_of_segments(segments, state) if one.code != "S54"]


def codes(segments: list[SegmentState], state: ClusterState | None) -> list[str]:
    return [one.code for one in findings_but_unread(segments, state)]


def test_a_split_topic(tmp_path: Path) -> None:
    state = saved(tmp_path, *SPLIT)
    found = segment_states(state, {name(1): Stored(2, 7, 100 * 7)})
    assert [(one.segment, one.status, one.stored.entries) for one in found] == [
        (name(0, "0000-ffff"), "sealed", 0),
        (name(1), "active", 7),
        (name(2, "8000-ffff"), "active", 0),
    ]
    assert codes(found, state) == []
    (unread,) = findings_of_segments(found, state)
    assert (unread.code, unread.incomplete) == ("S54", True)
    assert unread.evidence == (name(0, "0000-ffff"), name(2, "8000-ffff"))
    listed = with_topics(state, _0000_ffff_0=True, _8000_ffff_2=False)
    assert list(findings_of_segments(segment_states(listed, {name(1): Stored(2, 7, 1)}), listed)) == []


def test_ledgers_that_readers_found_are_not_all_and_say_nothing_of_cursors(tmp_path: Path) -> None:
    state = with_topics(saved(tmp_path, *SPLIT), _0000_ffff_0=True, _0000_7fff_1=False, _8000_ffff_2=False)
    live = replace(state, stored_values=())
    found = segment_states(live, {name(1): Stored(2, 7, 100 * 7)})
    with_cursor = [replace(found[0], subscriptions=("workers",)), *found[1:]]
    (finding,) = findings_of_segments(with_cursor, live)  # S57, and no S53: nothing was asked of the children's cursors
    assert (finding.code, finding.incomplete, finding.count) == ("S57", True, 3)
    assert [one.code for one in findings_of_segments(with_cursor, state)] == ["S53"]


def test_without_a_layout_the_names_tell_what_there_is(tmp_path: Path) -> None:
    found = segment_states(None, {name(1): Stored(2, 7, 100 * 7), "persistent://t/ns/b": Stored(1, 1, 100 * 1)})
    assert [(one.topic, one.parts.segment_id, one.status) for one in found] == [(TOPIC, 1, "unknown")]
    (finding,) = findings_of_segments(found, None)
    assert (finding.code, finding.incomplete, finding.evidence) == ("S50", True, (name(1),))


@pytest.mark.parametrize(
    ("segments", "terminated", "stored", "words"),
    [
        pytest.param(SPLIT, {"_0000_7fff_1": True}, {}, "segment 1 is called active, but", id="cut off"),
        pytest.param(SPLIT, {"_0000_ffff_0": False}, {}, "segment 0 is called sealed, but it is not", id="not sealed"),
        pytest.param(SPLIT, {"_0000_3fff_3": False}, {}, "segment 3 exists, but the layout never gave", id="child"),
        pytest.param(SPLIT, {}, {name(3, "0000-3fff"): Stored(1, 0, 100 * 0)}, "segment 3 exists", id="stored child"),
        pytest.param(SPLIT[:2], {}, {}, "no active segment has key hashes 32768 to 65535", id="gap at the end"),
        pytest.param((segment(1, 5, 65535),), {}, {}, "no active segment has key hashes 0 to 4", id="gap at the begin"),
        pytest.param((*SPLIT, segment(0, 1, 1)), {}, {}, "several active segments have key hash 1", id="overlap"),
    ],
)  # fmt: skip
def test_contradictions(
    tmp_path: Path, segments: Any, terminated: dict[str, bool], stored: dict[str, Stored], words: str
) -> None:
    state = with_topics(saved(tmp_path, *segments), **terminated)
    (finding,) = findings_but_unread(segment_states(state, stored), state)
    assert finding.code == "S51"
    assert any(one.startswith(words) for one in finding.evidence)


def test_a_pruned_segment_that_is_still_stored(tmp_path: Path) -> None:
    state = saved(tmp_path, *SPLIT[1:])
    found = segment_states(state, {name(0, "0000-ffff"): Stored(2, 9, 100 * 9)})
    assert [one.status for one in found] == ["pruned", "active", "active"]
    (finding,) = findings_but_unread(found, state)
    assert (finding.code, finding.count) == ("S52", 2)
    assert codes(segment_states(state, {}), state) == []  # nothing of it is left


@pytest.mark.parametrize(
    ("registered", "expected"),
    [((), ["S53"]), (("workers",), [])],
    ids=["queue", "registered"],
)
def test_a_queue_subscription_without_cursor_on_children(
    tmp_path: Path, registered: tuple[str, ...], expected: list[str]
) -> None:
    state = saved(tmp_path, *SPLIT, registered=registered)
    state = with_topics(state, _0000_ffff_0=True, _0000_7fff_1=False, _8000_ffff_2=False)
    found = segment_states(state, {name(1): Stored(1, 5, 100 * 5), name(2, "8000-ffff"): Stored(1, 4, 100 * 4)})
    on_parent = [replace(found[0], subscriptions=("workers",)), replace(found[1], subscriptions=("workers",)), found[2]]
    findings = findings_but_unread(on_parent, state)
    assert [one.code for one in findings] == expected
    for finding in findings:
        assert (finding.count, finding.evidence) == (4, (name(2, "8000-ffff"),))
        assert "4 entries with 400 bytes" in finding.message


def test_a_real_metadata_store() -> None:
    state = read_cluster_state(PULSAR5 / "admin", {})
    found = segment_states(state, {})
    by_topic = {topic: [one for one in found if one.topic == topic] for topic in state.layouts}
    assert {topic: len(of) for topic, of in by_topic.items()} == {
        "topic://acme/files/eu%2Fboard%20one": 3,
        "topic://acme/live/hot": 2,
        "topic://acme/shop/clicks": 7,
        "topic://acme/shop/legacy": 6,
        "topic://acme/shop/race": 3,
        "topic://acme/shop/single": 2,
        "topic://acme/shop/transfers": 5,
        "topic://acme/short/gone": 2,
    }
    # Sealed is terminated, in each of them; layouts of a healthy cluster contradict nothing.
    assert all(one.is_terminated == (one.status == "sealed") for one in found)
    lacking = {one.subject: one.evidence for one in findings_of_segments(found, state)}
    assert {len(of) for subject, of in lacking.items() if subject == "topic://acme/shop/clicks workers"} == {2}
    assert len(lacking["topic://acme/shop/transfers settle"]) == 4
    assert [one for one in lacking if one.startswith("topic://acme/shop/clicks")] == [
        "topic://acme/shop/clicks workers"
    ]
    migrated = by_topic["topic://acme/shop/legacy"][0]
    assert (migrated.segment, migrated.row("c")["is_legacy"]) == ("persistent://acme/shop/legacy-partition-0", True)


def test_saved_answers_of_the_rest_api(tmp_path: Path) -> None:
    state = read_cluster_state(PULSAR5 / "scalable", {})
    assert {topic: len(of.segments) for topic, of in state.layouts.items()} == {
        "topic://acme/shop/race": 3,
        "topic://acme/shop/transfers": 5,
    }
    assert state.findings == ()


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({"hashRange": None}, 2),
        ({"hashRange": {"start": 7, "end": 6}}, 2),
        ({"hashRange": {"start": 0, "end": 65536}}, 2),
        ({"segmentId": -1}, 2),
        ({"segmentId": "0"}, 2),
        ({"parentIds": ["x"]}, 3),
        ({"createdAtMs": 10**30}, 3),
    ],
)
def test_a_segment_that_makes_no_sense_is_noted(tmp_path: Path, change: dict[str, Any], left: int) -> None:
    state = saved(tmp_path, SPLIT[0] | change, *SPLIT[1:])
    assert len(state.layouts[TOPIC].segments) == left
    assert "S19" in [one.code for one in state.findings]
