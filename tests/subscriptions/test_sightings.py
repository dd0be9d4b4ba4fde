"""Damaged and contradicting folders: findings, never a crash, and nothing taken for acknowledged."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cursors.sizes import Splitting
from pulsar_backlog.cursors.values import AckState, CursorInfo
from pulsar_backlog.subscriptions.sightings import CursorViews, cursor_views
from tests.auditing import DATA
from tests.cursors.encode import encode_cursor_info, encode_entries

REAL = DATA / "cursors" / "broker-4.0.8"
TOPIC = "persistent://lab/sub/subs-unbatched"
NODE = "/managed-ledgers/lab/sub/persistent/subs-unbatched/shared-holes"
LIVE = "sub-live-subs-unbatched-internalStats.json"


def views_of(folder: Path) -> CursorViews:
    return cursor_views(read_cluster_state(folder, {}), {})


def codes(views: CursorViews) -> set[str]:
    own = {finding.code for view in views.cursors.values() for finding in view.findings}
    return own | {finding.code for finding in views.findings}


def live(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> CursorViews:
    """The real internalStats, changed."""
    body = json.loads((REAL / LIVE).read_text())
    change(body)
    (tmp_path / "stats-internal.json").write_text(json.dumps(body))
    return views_of(tmp_path)


def cursor(body: dict[str, Any]) -> dict[str, Any]:
    return body["cursors"]["shared-holes"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        pytest.param(lambda b: cursor(b).update(markDeletePosition="999:5"), "K05", id="a ledger that is gone"),
        pytest.param(lambda b: cursor(b).update(markDeletePosition="213:600"), "K05", id="beyond the end"),
        pytest.param(lambda b: cursor(b).update(individuallyDeletedMessages="[(213:9..213:5]]"), "K11", id="reversed"),
        pytest.param(lambda b: cursor(b).update(individuallyDeletedMessages="[(213:9..213:15],(213:11..213:20]]"),
                     "K11", id="overlapping"),
        pytest.param(lambda b: cursor(b).update(individuallyDeletedMessages="[(213:9..213:15],(213:2"),
                     "K10", id="cut text"),
        pytest.param(lambda b: cursor(b).update(markDeletePosition="soon"), "K10", id="no position"),
        pytest.param(lambda b: cursor(b).pop("markDeletePosition"), "K10", id="position missing"),
    ],
)  # fmt: skip
def test_what_cannot_be_right_is_a_finding(tmp_path: Path, change: Callable[[dict[str, Any]], None], code: str) -> None:
    assert code in codes(live(tmp_path, change))


def test_the_readable_part_of_cut_ranges_counts_and_the_rest_is_not_acknowledged(tmp_path: Path) -> None:
    views = live(tmp_path, lambda b: cursor(b).update(individuallyDeletedMessages="[(213:10..213:12],(213:20..213:"))
    (sighting,) = views.cursors[TOPIC, "shared-holes"].sightings
    assert {ledger: set(bits) for ledger, bits in sighting.acked.ledgers.items()} == {213: {11, 12}}


def test_two_snapshots_of_different_times_the_newer_counts(tmp_path: Path) -> None:
    def go_back(body: dict[str, Any]) -> None:
        cursor(body).update(
            markDeletePosition="213:1", individuallyDeletedMessages="[(213:3..213:4]]", cursorLedgerLastEntry=0
        )

    (tmp_path / "new.json").write_bytes((REAL / LIVE).read_bytes())
    views = live(tmp_path, go_back)
    found = views.cursors[TOPIC, "shared-holes"].newest()
    assert found.chosen.file == "new.json"
    # The older one is wholly contained in the newer: time passed, nothing is wrong.
    assert codes(views) == set()


def test_a_newer_state_that_lost_acknowledgements_is_a_rollback(tmp_path: Path) -> None:
    def rolled_back(body: dict[str, Any]) -> None:
        cursor(body).update(markDeletePosition="213:1", individuallyDeletedMessages="[]", cursorLedger=400)

    (tmp_path / "before.json").write_bytes((REAL / LIVE).read_bytes())
    views = live(tmp_path, rolled_back)
    assert views.cursors[TOPIC, "shared-holes"].newest().chosen.acked.mark_delete == (213, 1)
    assert codes(views) == {"K04", "K13"}


def node(tmp_path: Path, value: bytes) -> None:
    (tmp_path / "store.json").write_text(json.dumps({NODE: {"b64": base64.b64encode(value).decode()}}))


@pytest.mark.parametrize("value", [b"\x08", b"\x47\x78\x00", b"\x10\x01", b"\x08\x05\x10\x07"])
def test_a_damaged_node_is_a_finding(tmp_path: Path, value: bytes) -> None:
    node(tmp_path, value)
    views = views_of(tmp_path)
    assert codes(views) == {"K10"}
    assert views.cursors[TOPIC, "shared-holes"].sightings == []


@pytest.mark.parametrize(
    ("numbers", "texts", "expected"),
    [
        ({"CompactedTopicLedger": 478, "my.own": 1}, {"team": "a", "pulsar": "x"}, set()),
        ({"pulsar.replicated.subscription": 1}, {"#pulsar.internal.delayed.bucket_1_9": "x"}, set()),
        ({"pulsar.acked.elsewhere": 1}, {}, {"K15"}),
        ({}, {"#pulsar.internal.acked": "213:9"}, {"K15"}),
    ],
)
def test_properties_that_brokers_keep_for_themselves(
    tmp_path: Path, numbers: dict[str, int], texts: dict[str, str], expected: set[str]
) -> None:
    node(tmp_path, encode_cursor_info(CursorInfo(-1, AckState((213, 4), properties=numbers), texts)))
    views = views_of(tmp_path)
    assert codes(views) == expected
    assert views.cursors[TOPIC, "shared-holes"].newest().chosen.acked.mark_delete == (213, 4)


def test_names_of_producers_are_no_properties_of_the_broker(tmp_path: Path) -> None:
    value = encode_cursor_info(CursorInfo(-1, AckState((213, 4), properties={"pulsar.repl.east": 7})))
    dedup = NODE.replace("shared-holes", "pulsar.dedup")
    (tmp_path / "store.json").write_text(json.dumps({dedup: {"b64": base64.b64encode(value).decode()}}))
    assert codes(views_of(tmp_path)) == set()


def test_a_torn_cursor_ledger_falls_back_and_says_so(tmp_path: Path) -> None:
    whole = encode_entries(AckState((213, 4)), Splitting(True, 4, "NONE"))
    torn = encode_entries(AckState((213, 40)), Splitting(True, 4, "NONE"))
    entries = dict(enumerate([*whole, *torn[1:]]))
    node(tmp_path, encode_cursor_info(CursorInfo(77, AckState((213, -1)))))
    (tmp_path / "ledger-77.json").write_text(json.dumps({str(k): {"hex": v.hex()} for k, v in entries.items()}))
    views = views_of(tmp_path)
    assert codes(views) == {"K06"}
    found = views.cursors[TOPIC, "shared-holes"].newest()
    assert (found.chosen.acked.mark_delete, found.sureness) == ((213, 4), "likely")


def test_a_cursor_ledger_of_nobody(tmp_path: Path) -> None:
    source = REAL / "entrylog-cursor-ledger-221.json"
    (tmp_path / source.name).write_bytes(source.read_bytes())
    views = views_of(tmp_path)
    assert codes(views) == {"K14"}
    assert views.cursors == {}


def test_truncated_json_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_bytes((REAL / LIVE).read_bytes())
    (tmp_path / "cut.json").write_bytes((REAL / LIVE).read_bytes()[:1000])
    state = read_cluster_state(tmp_path, {})
    assert [(finding.code, finding.subject) for finding in state.findings] == [("S19", "cut.json")]
    assert (TOPIC, "shared-holes") in cursor_views(state, {}).cursors
