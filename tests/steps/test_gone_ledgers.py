"""Which ledgers are gone, which may lie where nobody could look, and what retention explains."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.cluster.retention import Retention, SavedRetention
from pulsar_backlog.cluster.snapshot_index import INDEX_NAME
from pulsar_backlog.cluster.values import ClusterState, LedgerRecord, TopicState
from pulsar_backlog.findings import Finding
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.sorted_ids import LedgerIds
from pulsar_backlog.options import Options
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.steps.gone_ledgers import KnownLedger, Missing, is_expected, note_gone
from tests.blank_rows import NOON
from tests.small_tables import write_tables

NEEDS_SPARK = True

A, B = "persistent://t/n/a", "persistent://t/n/b"
LATER = NOON + timedelta(days=1)


def ids(*stored: int) -> LedgerIds:
    return LedgerIds(pa.array(stored, pa.int64()))


def unread(code: str, **given: Any) -> Finding:
    return Finding(code, "s", "m", incomplete=True, **given)


def ledger(ledger_id: int, topic: str = A, **given: Any) -> dict[str, Any]:
    return {"cluster": "c", "ledger_id": ledger_id, "topic": topic, "copy": "u", "kind": "jcloud", "selected": True,
            **given}  # fmt: skip


def scan(ledger_id: int, topic: str = A, **given: Any) -> dict[str, Any]:
    return {"cluster": "c", "ledger_id": ledger_id, "topic": topic, "copy": "u", **given}


@dataclass
class Place:
    """Tables in a folder, and what `note_gone` makes of them."""

    spark: SparkSession
    out: Path
    admin: Path | None = None
    at: datetime = LATER
    told: list[Finding] = field(default_factory=list)
    state: ClusterState | None = None

    @property
    def context(self) -> JobContext:
        options = Options(out=str(self.out), cluster="c", admin=str(self.admin) if self.admin else None)
        return JobContext(lambda: self.spark, "inventory_ledgers", options, self.at)

    def note(self, *stored: int, scope: Scope | None = None) -> Missing:
        return note_gone(self.context, scope or Scope(), ids(*stored), self.told, self.state)

    def gone(self) -> list[tuple[int, bool, datetime]]:
        rows = self.context.table("gone_ledgers").orderBy("ledger_id").toArrow().to_pylist()
        return [(row["ledger_id"], row["scanned"], row["gone_time"]) for row in rows]


@pytest.fixture
def place(row_source: str, spark: SparkSession, tmp_path: Path) -> Place:
    others = [ledger(99, cluster="other"), ledger(98, selected=False)]  # another cluster's; an index without data
    write_tables(
        tmp_path,
        ledgers=[ledger(1), ledger(2), ledger(3, B), *others],
        scans=[scan(1), scan(3, B), scan(4, B)],
        runs=[],
    )
    return Place(spark, tmp_path)


def test_what_is_listed_is_not_gone(place: Place) -> None:
    assert place.note(1, 2, 3, 4) == Missing([], [], [])
    assert not (place.out / "tables" / "gone_ledgers").exists()


def test_what_was_listed_or_read_and_is_not_there(place: Place) -> None:
    noted = place.note(1)
    assert (noted.gone, noted.unseen) == ([2, 3, 4], [])
    assert place.gone() == [(2, False, LATER), (3, True, LATER), (4, True, LATER)]
    assert [(one.code, one.topic, one.count, one.evidence) for one in noted.findings] == [
        ("S43", A, 1, ("ledger 2",)),
        ("S43", B, 2, ("ledger 3", "ledger 4")),
    ]


def test_what_was_not_asked_for_is_not_gone(place: Place) -> None:
    assert place.note(1, scope=Scope((A,))).gone == [2]
    assert place.note(1, scope=Scope(ledgers=((4, 9),))).gone == [4]
    assert [id_ for id_, *_ in place.gone()] == [2, 4]


def test_a_ledger_that_is_listed_without_its_topic_is_not_gone(place: Place) -> None:
    assert place.note(1, 2, 3, 4, scope=Scope((A,))).gone == []


def test_what_comes_back_is_not_gone_any_more(place: Place) -> None:
    place.note(1, 2)
    assert place.note(1, 2, 3) == Missing([], [], place.note(1, 2, 3).findings)
    assert [id_ for id_, *_ in place.gone()] == [4]


@pytest.mark.parametrize(
    ("told", "kind", "is_gone"),
    [
        pytest.param(unread("S02"), "jcloud", False, id="a place that could not be listed"),
        pytest.param(unread("S02", ledger_id=1), "jcloud", True, id="another ledger's object that could not be read"),
        pytest.param(unread("S25"), "jcloud", True, id="a damaged log has nothing to do with objects"),
        pytest.param(unread("S25"), "bookies", False, id="a damaged log may hold it"),
        pytest.param(unread("S19"), "jcloud", True, id="saved state says nothing of objects"),
    ],
)
def test_what_may_lie_where_nobody_could_look(
    spark: SparkSession, tmp_path: Path, told: Finding, kind: str, is_gone: bool
) -> None:
    write_tables(tmp_path, ledgers=[ledger(1), ledger(2, kind=kind)], scans=[scan(2)])
    noted = Place(spark, tmp_path, told=[told]).note(1)
    assert (noted.gone, noted.unseen) == (([2], []) if is_gone else ([], [2]))
    assert (tmp_path / "tables" / "gone_ledgers").exists() == is_gone


@pytest.mark.parametrize(
    ("globs", "finished", "unsaved", "is_gone"),
    [
        pytest.param(["*"], True, False, True, id="the broker was asked for every topic"),
        pytest.param(["t/n/a"], True, False, True, id="and for this one"),
        pytest.param(["t/n/b"], True, False, False, id="but for another one only"),
        pytest.param(["*"], False, False, False, id="the snapshot was killed"),
        pytest.param(["*"], True, True, False, id="a topic could not be saved"),
        pytest.param(None, True, False, False, id="no snapshot, so nobody knows what was asked"),
    ],
)
def test_a_live_ledger_is_gone_where_the_broker_was_asked_for_it(
    spark: SparkSession, tmp_path: Path, globs: list[str] | None, finished: bool, unsaved: bool, is_gone: bool
) -> None:
    admin = tmp_path / "admin"
    admin.mkdir()
    lines = [{"version": 1, "topics": globs}, *([{"finished_ms": 1}] if finished else [])]
    if globs is not None:
        (admin / INDEX_NAME).write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_tables(tmp_path, ledgers=[ledger(2, kind="live")], scans=[scan(2)])
    place = Place(spark, tmp_path, admin, told=[unread("S19")] if unsaved else [])
    assert place.note().gone == ([2] if is_gone else [])


def test_it_is_told_until_a_report_was_made(place: Place) -> None:
    place.note(1, 2, 4)
    assert [one.evidence for one in place.note(1, 2, 4).findings] == [("ledger 3",)]  # a run was killed before it
    write_tables(place.out, runs=[{"cluster": "c", "job": "write_report", "started": LATER + timedelta(minutes=1)}])
    place.at = LATER + timedelta(days=1)
    assert place.note(1, 2, 4).findings == []
    assert [one.evidence for one in place.note(1, 4).findings] == [("ledger 2",)]
    assert place.gone() == [(2, False, place.at), (3, True, LATER)]


def listed(*ledgers: int, **given: Any) -> TopicState:
    return TopicState(A, tuple(LedgerRecord(id_, A, entries=1, size_bytes=1 << 20) for id_ in ledgers), **given)


DAY = Retention(24 * 60, -1)


@pytest.mark.parametrize(
    ("topic", "retention", "closed", "expected"),
    [
        pytest.param(listed(5, 7), DAY, LATER - timedelta(hours=25), True, id="trimmed, and older than retention"),
        pytest.param(listed(5, 7), DAY, LATER - timedelta(hours=24), True, id="as old as retention"),
        pytest.param(listed(5, 7), DAY, LATER - timedelta(hours=23), False, id="trimmed, but younger"),
        pytest.param(listed(5, 7), DAY, None, False, id="nobody knows how old"),
        pytest.param(listed(5, 7), Retention(-1, -1), LATER - timedelta(days=99), False, id="kept for ever"),
        pytest.param(listed(5, 7), Retention(-1, 2), LATER, True, id="two megabytes lie after it"),
        pytest.param(listed(5, 7), Retention(-1, 3), LATER, False, id="less than retention lies after it"),
        pytest.param(listed(5, 7), Retention(0, 0), LATER, True, id="no retention: it goes when acknowledged"),
        pytest.param(listed(5, 7), None, LATER - timedelta(days=99), False, id="no policy was saved"),
        pytest.param(listed(2, 3, 5), DAY, LATER - timedelta(days=9), False, id="the broker still lists it"),
        pytest.param(listed(2, 5), DAY, LATER - timedelta(days=9), False, id="lost from the middle of the list"),
        pytest.param(listed(), DAY, LATER - timedelta(days=9), False, id="no list was saved"),
        pytest.param(
            listed(5, names_all_ledgers=False), DAY, LATER - timedelta(days=9), False, id="a list read in part"
        ),
    ],
)
def test_what_retention_explains(
    topic: TopicState, retention: Retention | None, closed: datetime | None, expected: bool
) -> None:
    policies = SavedRetention({A: retention} if retention else {})
    state = ClusterState({A: topic}, frozenset(), (), retention=policies)
    assert is_expected(KnownLedger(A, 3, "u", "jcloud", None, closed, True), state, LATER) is expected


def test_a_topic_that_was_not_saved_is_not_explained() -> None:
    state = ClusterState({}, frozenset(), (), retention=SavedRetention(default=Retention(0, 0)))
    assert not is_expected(KnownLedger(A, 3, "u", "jcloud", None, NOON, True), state, LATER)


def test_what_retention_explains_is_a_note(spark: SparkSession, tmp_path: Path) -> None:
    old = datetime(2020, 1, 1, tzinfo=UTC)
    write_tables(tmp_path, ledgers=[ledger(2, closed_time=old), ledger(3, B, closed_time=old)], scans=[])
    state = ClusterState({A: listed(5)}, frozenset(), (), retention=SavedRetention(default=DAY))
    findings = Place(spark, tmp_path, state=state).note(5).findings
    assert [(one.code, one.kind.severity, one.topic) for one in findings] == [("S44", "info", A), ("S43", "warning", B)]
