"""Which saved state an audit goes by: what it is given, and of other topics what an earlier one was given."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.cluster.snapshot_index import INDEX_NAME
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.options import Options
from pulsar_backlog.report.earlier import EarlierState
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.steps.history import old_rows, remove
from pulsar_backlog.steps.known_state import earlier_state, state_of
from pulsar_backlog.steps.state_folder import state_inputs
from tests.blank_rows import NOON
from tests.cluster.test_admin_json import LIVE
from tests.small_tables import write_tables

NEEDS_SPARK = True

A, B = "persistent://lab/n/a", "persistent://lab/n/b"


@dataclass
class Place:
    spark: SparkSession
    root: Path
    day: int = 0

    def context(self, admin: Path | None = None) -> JobContext:
        options = Options(out=str(self.root / "out"), cluster="c", admin=str(admin) if admin else None)
        return JobContext(lambda: self.spark, "job", options, NOON + timedelta(days=self.day))

    def given(self, admin: Path | None = None) -> ClusterState | None:
        self.day += 1
        return state_of(self.context(admin), {})

    def topics(self, admin: Path | None = None) -> list[str]:
        state = self.given(admin)
        return [] if state is None else list(state.topics)

    def earlier(self, **options: str) -> EarlierState | None:
        run = {"cluster": "c", "job": "analyze_subscriptions", "started": NOON, "options": options}
        write_tables(self.root / "out", runs=[run])
        return earlier_state(self.context())


@pytest.fixture
def place(row_source: str, spark: SparkSession, tmp_path: Path) -> Place:
    return Place(spark, tmp_path)


def folder(path: Path, *topics: str, index: list[dict[str, Any]] | None = None, day: int = 0) -> Path:
    """Saved state of topics, each of one ledger."""
    path.mkdir()
    for topic in topics:
        body = {**LIVE, "ledgers": [{"ledgerId": ord(topic[-1]), "entries": 1, "size": 1, "offloaded": True}]}
        file = path / f"lab__n__{topic[-1]}.internalStats.json"
        file.write_text(json.dumps(body))
        then = (NOON + timedelta(days=day)).timestamp()
        os.utime(file, (then, then))
    if index is not None:
        (path / INDEX_NAME).write_text("".join(json.dumps(line) + "\n" for line in index))
    return path


def test_without_any(place: Place) -> None:
    assert place.given() is None
    assert place.earlier() is None
    assert not (place.root / "out" / "tables" / "saved_states").exists()


def test_what_was_given_once(place: Place) -> None:
    both = folder(place.root / "both", A, B)
    given = place.given(both)
    assert given is not None
    assert place.given() == given
    assert place.earlier() == EarlierState(2, 2, round(NOON.timestamp() * 1000), False)
    assert place.earlier(admin="both") is None


def test_what_lacks_a_topic(place: Place) -> None:
    assert place.topics(folder(place.root / "both", A, B)) == [A, B]
    one = folder(place.root / "one", B, day=2)
    assert place.topics(one) == [A, B]
    assert place.topics(one) == [A, B], "and the next job of the same audit"
    assert place.earlier(admin="one") == EarlierState(1, 2, round(NOON.timestamp() * 1000), True)
    assert place.topics(folder(place.root / "again", A, B)) == [A, B]
    assert place.earlier(admin="again") is None


def test_what_maintenance_removed_is_known_no_more(place: Place) -> None:
    """A topic that was deleted, and nothing but its absence from every folder since says so."""
    assert place.topics(folder(place.root / "both", A, B)) == [A, B]
    place.day = 91
    one = folder(place.root / "one", B, day=90)
    assert place.topics(one) == [A, B], "nobody knows that it was deleted"
    for old in old_rows(place.context(), NOON + timedelta(days=1)):
        remove(place.context(), old)
    assert place.topics(one) == [A, B], "it was read a day after noon, and is not older than that"
    for old in old_rows(place.context(), NOON + timedelta(days=2)):
        remove(place.context(), old)
    assert place.topics(one) == [B]
    assert place.topics() == [B]


def test_one_folder_is_stored_once(place: Place) -> None:
    both = folder(place.root / "both", A, B)
    place.given(both)
    version = place.context().version("saved_states")
    place.given(both)
    place.given()
    assert place.context().version("saved_states") == version
    place.given(folder(place.root / "one", A))
    assert place.topics(both) == [A, B], "a folder that was given before, and is newer to this audit"
    assert place.earlier(admin="both") is None


def test_two_clusters_do_not_know_each_other(place: Place) -> None:
    place.given(folder(place.root / "both", A, B))
    other = Options(out=str(place.root / "out"), cluster="other")
    assert state_of(JobContext(lambda: place.spark, "job", other, NOON), {}) is None


SAVED = {"topic": A, "status": "saved", "at_ms": 1_700_000_000_000, "files": ["lab__n__a.internalStats.json"]}
BEGUN = {"begun_ms": round((NOON + timedelta(days=1)).timestamp() * 1000)}
ALL = {"topics": ["*"], **BEGUN}
END = {"finished_ms": 2}


@pytest.mark.parametrize(
    ("lines", "topics"),
    [
        pytest.param([ALL, SAVED, END], [A], id="asked for all, and it is not there: deleted"),
        pytest.param([ALL, SAVED, {**SAVED, "topic": B, "status": "gone"}, END], [A], id="deleted meanwhile"),
        pytest.param([ALL, SAVED, {**SAVED, "topic": B, "status": "failed"}, END], [A, B], id="not readable"),
        pytest.param([ALL, SAVED], [A, B], id="not finished"),
        pytest.param([{"topics": ["lab/n/a"], **BEGUN}, SAVED, END], [A, B], id="not asked for"),
        pytest.param([{"topics": [], **BEGUN}, SAVED, END], [A, B], id="asked for nothing"),
        pytest.param([{"topics": ["*"]}, SAVED, END], [A, B], id="it does not say when it was begun"),
        pytest.param(
            [{"topics": ["*"], "begun_ms": round(NOON.timestamp() * 1000)}, SAVED, END],
            [A, B],
            id="no newer than what is known: the topic may have been made since",
        ),
    ],
)
def test_topics_that_a_snapshot_lacks(
    spark: SparkSession, tmp_path: Path, lines: list[dict[str, Any]], topics: list[str]
) -> None:
    place = Place(spark, tmp_path)
    place.given(folder(tmp_path / "both", A, B))
    assert place.topics(folder(tmp_path / "snapshot", A, index=lines, day=2)) == topics
    expected = EarlierState(1, 2, round(NOON.timestamp() * 1000), True) if B in topics else None
    assert place.earlier(admin="snapshot") == expected


def test_a_snapshot_knows_when_it_was_saved(spark: SparkSession, tmp_path: Path) -> None:
    place = Place(spark, tmp_path)
    place.given(folder(tmp_path / "snapshot", A, index=[ALL, SAVED, END]))
    assert place.earlier() == EarlierState(1, 1, SAVED["at_ms"], False)  # type: ignore[arg-type]


def test_what_another_version_stored_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    row = {"cluster": "c", "topic": A, "read_time": NOON, "folder_digest": "x", "state": '{"says": "other things"}'}
    write_tables(tmp_path / "out", saved_states=[row])
    assert Place(spark, tmp_path).given() is None


def test_inputs_change_with_what_an_audit_goes_by(spark: SparkSession, tmp_path: Path) -> None:
    place = Place(spark, tmp_path)
    both = folder(tmp_path / "both", A, B)
    seen = [state_inputs(place.context()), state_inputs(place.context(both))]
    place.given(both)
    seen += [state_inputs(place.context()), state_inputs(place.context(both))]
    assert seen[1] == seen[3], "a folder that is given again is nothing new"
    assert seen[0] != seen[2]


def test_a_scalable_topic_is_not_deleted_because_a_snapshot_lists_none(spark: SparkSession, tmp_path: Path) -> None:
    row = {"cluster": "c", "topic": "topic://lab/n/s", "read_time": NOON, "state": '{"topic": "topic://lab/n/s"}'}
    write_tables(tmp_path / "out", saved_states=[row])
    place = Place(spark, tmp_path)
    place.given(folder(tmp_path / "snapshot", A, index=[ALL, SAVED, END]))
    found = place.context().table("saved_states").select("topic").orderBy("topic").collect()
    assert [row["topic"] for row in found] == [A, "topic://lab/n/s"]
