"""A later night does the topics that changed, and its tables are those of one audit of everything."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pulsar_backlog.options.jobs import JOB_OPTIONS
from pulsar_backlog.sql import engines
from pulsar_backlog.steps.topic_changes import TopicChanges
from pulsar_backlog.tableio import table_cache
from pulsar_backlog.tableio.table_versions import NAME
from scripts.compare_audits import texts_of
from tests.auditing import rows_of, run_one
from tests.jobs.test_thirty_nights import bodies
from tests.simulated_cluster import PUBLISHED_MS, Cluster, Cursor, Topic, plain

NEEDS_SPARK = True

TOPICS = 12
JOBS = ("assemble_chunks", "model_consumers", "analyze_subscriptions")
MADE = (
    "chunked_messages", "chunks", "topic_stats", "segments", "transactions", "consumer_outcomes", "client_forecasts",
    "subscriptions", "ack_ranges", "stalls", "findings",
)  # fmt: skip
NOTHING, ALL = (0, 0, 0), (TOPICS, TOPICS, TOPICS)

Done = tuple[int, ...]


@dataclass
class Nights:
    """A cluster, and the tables of its nights."""

    cluster: Cluster
    out: Path

    def audit(self, **options: Any) -> Done:
        """A night; how many topics each job did, 0 of one that had nothing to do."""
        return night(self.cluster, self.out, **options)

    def check(self, gone: str = "", **options: Any) -> None:
        """Hold the tables against those of one audit of everything.

        Args:
            gone: a topic that is gone; what was saved of it is kept.
            options: of that audit.
        """
        whole = self.out.with_name("whole")
        shutil.rmtree(whole, ignore_errors=True)
        night(self.cluster, whole, **options)
        for name in MADE:
            now, at_once = rows_in(self.out, name, gone), rows_in(whole, name, gone)
            assert (now - at_once, at_once - now) == ({}, {}), name


def night(cluster: Cluster, out: Path, **options: Any) -> Done:
    table_cache.clear()
    before = runs(out)
    for job in ("inventory_ledgers", "scan_entries", *JOBS):
        ended = run_one(job, cluster.objects, out, **given_to(cluster, job, **options))
        assert ended.exit_code in (0, 99), ended.stderr
    new = {run["job"]: dict(run["rows"]) for run in runs(out)[len(before) :]}
    return tuple(new.get(job, {}).get("topic_digests", 0) for job in JOBS)


def given_to(cluster: Cluster, job: str, **options: Any) -> dict[str, Any]:
    """What a job is given of the options of a night."""
    given = {"admin": cluster.admin, "cluster": "c", "fail_on": "never", **options}
    return {name: value for name, value in given.items() if value is not None and name in JOB_OPTIONS[job]}


def runs(out: Path) -> list[dict[str, Any]]:
    found = rows_of(out, "runs") if (out / "tables" / "runs").is_dir() else []
    return sorted(found, key=itemgetter("started"))


def rows_in(out: Path, name: str, gone: str = "") -> Counter[str]:
    if not (out / "tables" / name).is_dir():
        return Counter()
    rows = DeltaTable(out / "tables" / name).to_pyarrow_table()
    if gone:
        rows = rows.filter(pc.not_equal(rows["topic"], gone))
    if name == "findings":
        rows = rows.filter(pc.is_in(rows["job"], pa.array(JOBS)))
    return texts_of(rows)


def add_ledger(cluster: Cluster, topic: Topic, day: int) -> None:
    stored = bodies(topic.name, len(topic.ledgers), day, PUBLISHED_MS + day * 24 * 3600 * 1000)
    ledger_id = cluster.append(topic, stored)
    topic.cursors["done"] = Cursor((ledger_id, len(stored) - 1))
    topic.cursors["holes"] = Cursor((ledger_id, 0), [((ledger_id, 1), (ledger_id, 2))])
    topic.cursors.setdefault("behind", Cursor((ledger_id, -1)))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    """After the first night: twelve topics with two ledgers each."""
    root = tmp_path_factory.mktemp("changed")
    cluster = Cluster(root / "cluster")
    for number in range(TOPICS):
        topic = cluster.topic(f"orders-{number:02}")
        for day in (1, 2):
            add_ledger(cluster, topic, day)
    cluster.save()
    nights = Nights(cluster, root / "out")
    assert nights.audit() == ALL
    shutil.copytree(root / "cluster", root / "cluster-then")
    shutil.copytree(root / "out", root / "out-then")
    return nights


@pytest.fixture
def nights(first: Nights) -> Nights:
    """The same again, at the same place: another one would be another source."""
    for folder in (first.cluster.folder, first.out):
        shutil.rmtree(folder)
        shutil.copytree(folder.with_name(f"{folder.name}-then"), folder)
    return Nights(deepcopy(first.cluster), first.out)


def topic(cluster: Cluster, number: int = 3) -> Topic:
    return cluster.topics[f"orders-{number:02}"]


def a_ledger_more(cluster: Cluster) -> None:
    add_ledger(cluster, topic(cluster), 3)


def a_cursor_moves(cluster: Cluster) -> None:
    topic(cluster).cursors["behind"].mark_delete = topic(cluster).cursors["done"].mark_delete


def a_subscription_goes(cluster: Cluster) -> None:
    del topic(cluster).cursors["behind"]


def a_topic_goes(cluster: Cluster) -> None:
    cluster.delete(topic(cluster))


def a_head_is_trimmed(cluster: Cluster) -> None:
    cluster.trim(topic(cluster), min(topic(cluster).ledgers))


def offloaded_anew(cluster: Cluster) -> None:
    ledger_id = min(topic(cluster).ledgers)
    stored = bodies(topic(cluster).name, 0, 1, PUBLISHED_MS + 24 * 3600 * 1000)
    cluster.offload_again(topic(cluster), ledger_id, stored)


def other_bytes(cluster: Cluster) -> None:
    cluster.offload_again(topic(cluster), min(topic(cluster).ledgers), [plain("another", 0, PUBLISHED_MS)])


def ids_start_again(cluster: Cluster) -> None:
    """A topic is made again, and gets the ids that another one had."""
    ids = sorted(topic(cluster).ledgers)
    cluster.delete(topic(cluster))
    again = cluster.topic("made-again")
    for ledger_id in ids:
        cluster.append(again, [plain("q", ledger_id, PUBLISHED_MS + ledger_id)], ledger_id, attempt=1)
    again.cursors["done"] = Cursor((ids[0], -1))


def a_policy(cluster: Cluster) -> None:
    saved = {"snapshotKind": "policies", "topic": topic(cluster).full_name, "messageTTL": 60}
    (cluster.admin / "policies.json").write_text(json.dumps(saved))


def a_setting(cluster: Cluster) -> None:
    saved = {"snapshotKind": "cluster", "version": "4.0.1", "settings": {"maxMessageSize": "5242880"}}
    (cluster.admin / "broker.json").write_text(json.dumps(saved))


def a_dead_letter_topic(cluster: Cluster) -> None:
    add_ledger(cluster, cluster.topic("orders-03-behind-DLQ"), 1)


def a_ledger_without_a_topic(cluster: Cluster) -> None:
    from tests.ledgers.encoding import offload

    stored = offload([plain("nobody", 0, PUBLISHED_MS)], managed_ledger=None)
    (cluster.objects / "00000000-0000-4000-8000-000000000001-ledger-999").write_bytes(stored.data)
    (cluster.objects / "00000000-0000-4000-8000-000000000001-ledger-999-index").write_bytes(stored.index)


def nothing(_: Cluster) -> None:
    pass


@pytest.mark.parametrize(
    ("happens", "done"),
    [
        (nothing, NOTHING),
        (a_ledger_more, (1, 1, 1)),
        (a_cursor_moves, (0, 0, 1)),
        (a_subscription_goes, (0, 0, 1)),
        (a_head_is_trimmed, (1, 1, 1)),
        (offloaded_anew, (1, 1, 1)),
        (other_bytes, (1, 1, 1)),
        (a_policy, (0, 0, 1)),
        (a_setting, ALL),
        (a_dead_letter_topic, (1, 1, 2)),
        (a_ledger_without_a_topic, ALL),
    ],
)
def test_topics_that_changed_are_done(happens: Callable[[Cluster], None], done: Done, nights: Nights) -> None:
    happens(nights.cluster)
    nights.cluster.save()
    assert nights.audit() == done
    nights.check()


@pytest.mark.parametrize(("happens", "done"), [(a_topic_goes, (1, 1, 1)), (ids_start_again, (1, 1, 2))])
def test_topics_that_are_gone_leave_no_rows(happens: Callable[[Cluster], None], done: Done, nights: Nights) -> None:
    gone = topic(nights.cluster).full_name
    happens(nights.cluster)
    nights.cluster.save()
    assert nights.audit() == done
    for name in ("chunked_messages", "chunks", "topic_stats", "consumer_outcomes", "client_forecasts"):
        assert gone not in {row["topic"] for row in rows_of(nights.out, name, "topic")}, name
    nights.check(gone)


def test_changed_bytes_are_told(nights: Nights) -> None:
    """Other bytes at the same place, under the same name: the scan says so, and what was made of them is made anew."""
    one = topic(nights.cluster)
    ledger_id = min(one.ledgers)
    nights.cluster.append(one, [plain("another", 0, PUBLISHED_MS)], ledger_id)
    nights.cluster.save()
    assert nights.audit() == (1, 1, 1)
    assert [row["ledger_id"] for row in rows_of(nights.out, "findings") if row["code"] == "S17"] == [ledger_id]
    nights.check()


def test_a_night_for_one_topic_does_no_other(nights: Nights) -> None:
    for number in (3, 4):
        add_ledger(nights.cluster, topic(nights.cluster, number), 3)
    nights.cluster.save()
    asked = {"topic": [topic(nights.cluster).full_name]}
    # Saved state of both is news, the other topic's new ledger is not read.
    fold, models, analysis = nights.audit(**asked)
    assert (fold, models, analysis) == (2, 2, 2)
    assert nights.audit() == (1, 1, 1)
    nights.check()


def test_a_night_without_saved_state_keeps_what_was_said(nights: Nights) -> None:
    assert nights.audit(admin=None) == NOTHING
    a_ledger_more(nights.cluster)
    assert nights.audit(admin=None) == (1, 1, 1)
    nights.cluster.save()
    assert nights.audit() == (1, 1, 1)
    nights.check()


def test_other_options_do_all_topics(nights: Nights) -> None:
    assert nights.audit(grace_seconds=1) == ALL
    nights.check(grace_seconds=1)
    assert nights.audit() == ALL
    nights.check()


@pytest.mark.parametrize("job", JOBS)
def test_a_job_that_is_killed_between_its_commits_does_all_again(
    job: str, nights: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The night after it goes by what the one before it went by: digests and fingerprint of then are no longer true."""
    finish = TopicChanges.finish

    def killed(self: TopicChanges, *topics: Any) -> int:
        if self.context.job == job:
            raise KeyboardInterrupt
        return finish(self, *topics)

    monkeypatch.setattr(TopicChanges, "finish", killed)
    others = {"grace_seconds": 1, "model": ["java"], "max_ack_ranges": 1}
    given = given_to(nights.cluster, job, **others)
    assert run_one(job, nights.cluster.objects, nights.out, **given).exit_code == 130
    monkeypatch.setattr(TopicChanges, "finish", finish)
    done = nights.audit()
    assert done[JOBS.index(job)] == TOPICS
    nights.check()


def test_tables_of_an_earlier_release_have_no_digests(nights: Nights) -> None:
    shutil.rmtree(nights.out / "tables" / "topic_digests")
    recorded = nights.out / NAME
    recorded.write_text(json.dumps(json.loads(recorded.read_text()) | {"topic_digests": -1}))
    a_ledger_more(nights.cluster)
    nights.cluster.save()
    assert nights.audit() == ALL
    nights.check()


def test_most_topics_changed(nights: Nights) -> None:
    for number in range(5):
        add_ledger(nights.cluster, topic(nights.cluster, number), 3)
    nights.cluster.save()
    assert nights.audit() == ALL
    nights.check()


def test_spark_goes_by_the_same_digests(nights: Nights, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that are too large for the driver and for DuckDB."""
    monkeypatch.setattr(table_cache, "MAX_ROWS", -1)
    monkeypatch.setattr(engines, "MAX_BYTES", -1)
    assert nights.audit() == NOTHING
    a_ledger_more(nights.cluster)
    nights.cluster.save()
    assert nights.audit() == (1, 1, 1)
    monkeypatch.undo()
    nights.check()
