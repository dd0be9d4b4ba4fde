"""Thirty nights of a cluster that lives: what tables say of it is what one audit of everything says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection
from operator import itemgetter
from pathlib import Path

from deltalake import DeltaTable

from pulsar_backlog.tableio.living import BY_LEDGER
from pulsar_backlog.tableio.table_logs import runs_session
from scripts.compare_audits import NOT_COMPARED, texts_of
from tests.auditing import Audited, run_audit
from tests.simulated_cluster import PUBLISHED_MS, Cluster, Cursor, Topic, chunk, plain

NIGHTS = 30
LOOKED_AT = (10, 20, 30)
DAY_MS = 24 * 3600 * 1000
OF_NIGHTS = {*NOT_COMPARED, "changes", "problems", "saved_states", "gone_ledgers", "backlogs", "topic_digests"}
"""Tables that tell of the nights before too."""
OF_WHAT_CHANGED = {("S17", None), ("S43", None), ("S44", None), ("S16", "topics elsewhere")}
"""Findings that tell of an object that changed, of ledgers that are gone, and of topics that are saved no more."""


def trim_a_head(cluster: Cluster) -> None:
    topic = cluster.topics["orders-0"]
    cluster.trim(topic, min(topic.ledgers))


def offload_anew(cluster: Cluster) -> None:
    """The same bytes, by another attempt."""
    topic = cluster.topics["orders-3"]
    cluster.offload_again(topic, min(topic.ledgers), bodies(topic.name, 0, 0, PUBLISHED_MS))


def change_a_ledger(cluster: Cluster) -> None:
    """Other bytes under the same id."""
    topic = cluster.topics["orders-4"]
    cluster.offload_again(topic, min(topic.ledgers), [plain("another", 0, PUBLISHED_MS)])


def begin_again(cluster: Cluster) -> None:
    """A new cluster, whose ids start again."""
    for topic in list(cluster.topics.values()):
        cluster.delete(topic)
    cluster.next_ledger = 100


HAPPENS: dict[int, Callable[[Cluster], object]] = {
    4: trim_a_head,
    8: lambda cluster: cluster.delete(cluster.topics["orders-1"]),
    11: lambda cluster: cluster.topics["orders-2"].cursors.pop("behind"),
    14: offload_anew,
    17: change_a_ledger,
    24: begin_again,
}
"""By night."""


def live(cluster: Cluster, night: int) -> int:
    """A night; chunked messages begin in one and end in another, and every fourth is never ended.

    Returns:
        Topics that got a ledger.
    """
    if night in HAPPENS:
        HAPPENS[night](cluster)
    if not cluster.topics:
        for number in range(6):
            cluster.topic(f"orders-{number}")
    topics = enumerate(cluster.topics.values())
    growing = [topic for number, topic in topics if (night + number) % 3 == 0 or not topic.ledgers]
    for topic in growing:
        add_ledger(cluster, topic, night)
    cluster.save()
    return len(growing)


def bodies(producer: str, ledgers: int, night: int, at_ms: int) -> list[bytes]:
    """The end of the message that the last ledger began, plain messages, and the beginning of another."""
    ended = [chunk(producer, ledgers - 1, at_ms - DAY_MS, 2, 3)] if ledgers and night % 4 else []
    begun = [chunk(producer, ledgers, at_ms, number, 3) for number in range(2)]
    return [*ended, *(plain("p", night * 10 + number, at_ms + number) for number in range(3)), *begun]


def add_ledger(cluster: Cluster, topic: Topic, night: int) -> None:
    stored = bodies(topic.name, len(topic.ledgers), night, PUBLISHED_MS + night * DAY_MS)
    ledger_id = cluster.append(topic, stored)
    topic.cursors["done"] = Cursor((ledger_id, len(stored) - 1))
    topic.cursors["holes"] = Cursor((ledger_id, 0), [((ledger_id, 1), (ledger_id, 2))])
    if night < 11:
        topic.cursors.setdefault("behind", Cursor((ledger_id, -1)))


def living(audited: Audited, name: str, topics: Collection[str]) -> Counter[str]:
    """Rows of what is there, without what tells of nights.

    Subscriptions of a topic that nobody saves any more are kept as they were: it may be that less was saved.
    """
    gone = {row["ledger_id"] for row in audited.rows("gone_ledgers")} if has(audited, "gone_ledgers") else set()
    found: Counter[str] = Counter()
    for text, count in texts_of(DeltaTable(audited.out / "tables" / name).to_pyarrow_table()).items():
        row = json.loads(text)
        of_gone = name in BY_LEDGER and row["ledger_id"] in gone
        of_change = name == "findings" and not OF_WHAT_CHANGED.isdisjoint(
            {(row["code"], None), (row["code"], row["subject"])}
        )
        if not of_gone and not of_change and row.get("topic") in {*topics, None}:
            found[text] = count
    return found


def done(audited: Audited) -> tuple[int, ...]:
    """How many topics the newest run of each job did."""
    runs = sorted(audited.rows("runs", "job", "started", "rows"), key=itemgetter("started"))
    newest = {run["job"]: dict(run["rows"]) for run in runs}
    jobs = ("assemble_chunks", "model_consumers", "analyze_subscriptions")
    return tuple(newest[job]["topic_digests"] for job in jobs)


def has(audited: Audited, name: str) -> bool:
    return (audited.out / "tables" / name / "_delta_log").is_dir()


def test_tables_of_thirty_nights_are_those_of_one_audit(tmp_path: Path) -> None:
    cluster, out = Cluster(tmp_path / "cluster"), tmp_path / "out"
    known: set[tuple[str, bytes]] = set()
    had_java = runs_session()
    for night in range(1, NIGHTS + 1):
        growing = live(cluster, night - 1)
        objects = [path for path in cluster.objects.iterdir() if not path.name.endswith("-index")]
        stored = {(path.name, path.read_bytes()) for path in objects}
        audited = run_audit(cluster.objects, out, admin=cluster.admin, cluster="c")
        assert audited.exit_code in (0, 1), audited.stderr
        scans = [run for run in audited.rows("runs", "job", "started", "bytes_read") if run["job"] == "scan_entries"]
        news = sum(len(data) for _, data in stored - known)
        assert max(scans, key=itemgetter("started"))["bytes_read"] == news, "a night reads what is new"
        known = stored
        if night - 1 not in HAPPENS:
            assert done(audited) == (growing, growing, growing), "the topics that changed, and no others"
        if night not in LOOKED_AT:
            continue
        whole = run_audit(cluster.objects, tmp_path / f"whole-{night}", admin=cluster.admin, cluster="c")
        assert whole.exit_code == audited.exit_code
        for name in {path.parent.name for path in whole.out.glob("tables/*/_delta_log")} - OF_NIGHTS:
            topics = {topic.full_name for topic in cluster.topics.values()}
            now, at_once = living(audited, name, topics), living(whole, name, topics)
            assert (now - at_once, at_once - now) == ({}, {}), (night, name)
    assert runs_session() == had_java, "no night needs Java"
