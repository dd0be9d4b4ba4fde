"""The snapshots at both ends of an audit of live topics; broker and admin service are scripts on loopback."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.errors import UsageError
from pulsar_backlog.options import Options
from pulsar_backlog.steps.live_snapshots import findings_of_end, with_snapshot
from tests.cluster.admin_server import AdminServer, Answer, admin_server
from tests.ledgers.live.brokers import ServedTopic

INTERNAL = "/admin/v2/persistent/lab/s/{}/internalStats"
CURSOR = {"markDeletePosition": "0:-1", "individuallyDeletedMessages": "[]"}


@pytest.fixture
def broker() -> Iterator[ServedTopic]:
    running = ServedTopic({})
    yield running
    running.close()


@pytest.fixture
def admin() -> Iterator[AdminServer]:
    with admin_server() as running:
        running.holds("a-partition-0", "a-partition-1", "b")
        running.says("/admin/v2/persistent/lab/s/partitioned", ["persistent://lab/s/a"])
        running.says("/admin/v2/brokers", ["127.0.0.1:8080"])
        yield running


def given(broker: ServedTopic, admin: AdminServer, out: Path, **more: Any) -> dict[str, Any]:
    return {"source": broker.url, "admin_url": admin.url, "out": str(out), "timeout_seconds": 2, **more}


def snapped(asked: dict[str, Any]) -> dict[str, Any]:
    """The options of an audit after its first snapshot."""
    return {**asked, **with_snapshot(Options(**asked))}


def stats(last: str, **cursors: Any) -> dict[str, Any]:
    ledger = {"ledgerId": 2, "entries": 3, "size": 9, "offloaded": False}
    return {"ledgers": [ledger], "cursors": cursors, "lastConfirmedEntry": last, "state": "LedgerOpened"}


def test_a_snapshot_is_taken_and_named(broker: ServedTopic, admin: AdminServer, tmp_path: Path) -> None:
    options = snapped(given(broker, admin, tmp_path, topic=("lab/s/a",)))
    assert options["admin"] == str(tmp_path / "live" / "begin")
    # The partitions of a topic that is named are meant, whatever else the source holds.
    partitions = ("persistent://lab/s/a-partition-0", "persistent://lab/s/a-partition-1")
    assert options["topic"] == ("lab/s/a", *partitions)
    assert tuple(read_cluster_state(Path(options["admin"]), {}).topics) == partitions
    assert len(broker.heard) == 2  # it was knocked at: CONNECT and LOOKUP
    admin.answers[INTERNAL.format("a-partition-0")] = Answer(body=json.dumps(stats("0:1")).encode())
    again = snapped(given(broker, admin, tmp_path, topic=("lab/s/a",)))  # anew, not continued
    state = read_cluster_state(Path(again["admin"]), {})
    assert state.topics["persistent://lab/s/a-partition-0"].last_confirmed == (0, 1)


def test_when_it_asked_is_known(
    broker: ServedTopic, admin: AdminServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Our clock is an hour ahead of the broker's, whose times stand in the entries.
    now_ms = time.time_ns() // 1_000_000
    monkeypatch.setattr("pulsar_backlog.steps.live_snapshots._now_ms", lambda: now_ms + 3_600_000)
    options = snapped(given(broker, admin, tmp_path, topic=("lab/s/b",)))
    known_ms = read_cluster_state(Path(options["admin"]), {}).topics["persistent://lab/s/b"].known_until_ms
    assert known_ms is not None
    assert now_ms - 2000 <= known_ms <= now_ms + 10_000


def test_what_moved_is_told(broker: ServedTopic, admin: AdminServer, tmp_path: Path) -> None:
    admin.says(INTERNAL.format("b"), stats("2:2", s=CURSOR, t=CURSOR))
    options = Options(**snapped(given(broker, admin, tmp_path, topic=("lab/s/*",))))
    assert findings_of_end(options) == []
    admin.says(INTERNAL.format("b"), stats("2:5", s={**CURSOR, "markDeletePosition": "2:1"}, t=CURSOR))
    (moved,) = findings_of_end(options)
    assert (moved.code, moved.count) == ("S41", 1)
    assert moved.evidence == ("persistent://lab/s/b: last entry now 2:5, cursors that moved: 1",)


def test_a_cluster_that_is_gone_at_the_end(broker: ServedTopic, admin: AdminServer, tmp_path: Path) -> None:
    options = Options(**snapped(given(broker, admin, tmp_path, topic=("lab/s/b",))))
    admin.answers["/admin/v2/persistent/lab/s"] = Answer(401, b"")
    (finding,) = findings_of_end(options)
    assert (finding.code, finding.incomplete) == ("S02", True)


def test_a_snapshot_of_the_users_own_is_taken_as_it_is(broker: ServedTopic, admin: AdminServer, tmp_path: Path) -> None:
    mine = {**given(broker, admin, tmp_path), "admin": str(tmp_path / "mine")}
    assert with_snapshot(Options(**mine)) == {}
    assert findings_of_end(Options(**mine)) == []
    assert (admin.asked, broker.heard) == ([], [])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"topic": ("lab/s/none",)}, "no topic on .* matches lab/s/none"),
        ({"out": "s3://bucket/out"}, "is not a local folder"),
        ({"topic": ("lab/s/b",), "source": "pulsar://127.0.0.1:1"}, "no connection"),
        ({"topic": ("lab/s/denied",)}, "has no permission for this"),
    ],
)  # fmt: skip
def test_what_is_refused_at_once(
    broker: ServedTopic, admin: AdminServer, tmp_path: Path, more: dict[str, Any], words: str
) -> None:
    if more.get("topic") == ("lab/s/denied",):
        admin.says("/admin/v2/persistent/lab/s", ["persistent://lab/s/denied"])
        admin.answers[INTERNAL.format("denied")] = Answer(403, b"")
    with pytest.raises(UsageError, match=words):
        snapped({**given(broker, admin, tmp_path), **more})
