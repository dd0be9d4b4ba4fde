"""Audits of a real 5.0.0-M1: from bookies with a dump of the metadata store, and live. What they say is what was so."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pulsar_backlog.options import Options
from pulsar_backlog.steps.live_snapshots import with_snapshot
from pulsar_backlog.terms import EXIT_CLEAN, EXIT_INCOMPLETE
from pulsar_backlog.wire.names import scalable_topic_of
from tests.auditing import Audited, run_audit, run_job_of, run_one
from tests.broker5.conftest import Stage
from tests.broker5.scenario import CLICKS, LEGACY, NAMESPACE, PAYMENTS, TRANSFERS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def stored(spark: SparkSession, stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """The audit of the bookie with the dump, and an export."""
    found = run_audit(stage.bookie, tmp_path_factory.mktemp("stored"), admin=stage.dump, fail_on="never")
    assert found.exit_code == EXIT_CLEAN, found.stderr
    assert run_job_of("export", "export_messages", stage.bookie, found.out).exit_code == EXIT_CLEAN
    return found


@pytest.fixture(scope="module")
def live(spark: SparkSession, stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """The audit of the brokers, of the same topics."""
    out = tmp_path_factory.mktemp("live")
    return run_audit(stage.cluster.service_url, out, fail_on="never", **asked(stage, out, f"{NAMESPACE}/*"))


def asked(stage: Stage, out: Path, glob: str) -> dict[str, Any]:
    """Options of an audit of the brokers, which takes a snapshot first."""
    options = {"admin_url": stage.cluster.admin_url, "topic": (glob,)}
    more = with_snapshot(Options(source=stage.cluster.service_url, out=str(out), **options))
    return {**options, **more}


def exported(audited: Audited) -> dict[str, list[tuple[str, str]]]:
    """Label and payload's digest of each message, by scalable topic."""
    found = defaultdict(list)
    for row in audited.rows("messages", "topic", "properties", "payload_sha256"):
        if row["properties"] and "label" in row["properties"]:
            old = f"persistent://{NAMESPACE}/legacy"
            topic = scalable_topic_of(row["topic"]) or (LEGACY if row["topic"].startswith(old) else row["topic"])
            found[topic].append((row["properties"]["label"], row["payload_sha256"]))
    return found


def test_what_is_exported_is_what_consumers_received(stored: Audited, stage: Stage) -> None:
    messages, played = exported(stored), stage.played
    for topic in (CLICKS, LEGACY, PAYMENTS):
        received = [(label, sha256) for label, _, sha256, _ in played.checkpoints[topic]]
        assert len(set(received)) == len(received)
        assert sorted(messages[topic]) == sorted(received)
    received = {label for label, *_ in played.checkpoints[TRANSFERS]}
    labels = sorted(label for label, _ in messages[TRANSFERS])
    # Nobody was given what stands behind the open transaction, or is of it; it is committed all the same.
    assert not received & (played.open | played.hidden)
    assert labels == sorted(received | played.committed)
    assert not set(labels) & (played.open | played.hidden)


def test_layouts_and_queues_without_cursors(stored: Audited) -> None:
    status = {(row["topic"], row["segment_id"]): row["status"] for row in stored.rows("segments")}
    clicks = [status[CLICKS, number] for number in range(5)]
    assert clicks == ["sealed", "sealed", "active", "sealed", "active"]
    codes = stored.codes()
    assert not {"S50", "S51", "S54", "S57", "X12", "C38"} & codes.keys()
    # The queue was not back since the split; the stream has cursors everywhere; v4's subscription has none on children.
    assert {f"{CLICKS} workers", f"{TRANSFERS} settle", f"{LEGACY} drain"} == set(codes["S53"])


def test_live_entries_are_those_of_the_bookie(live: Audited, stored: Audited) -> None:
    columns = ("topic", "ledger_id", "entry_id", "publish_time_ms", "uuid", "chunk_id", "payload_crc32c")
    inside = {row["segment"] for row in stored.rows("segments")}
    assert live.exit_code == EXIT_INCOMPLETE
    sent, kept = (
        {tuple(row.values()) for row in one.rows("entries", *columns) if row["topic"] in inside}
        for one in (live, stored)
    )
    assert sent <= kept
    unsent = {(row[0], row[1], row[2]) for row in kept - sent}
    # Of aborted transactions, of the open one, and behind it.
    assert {scalable_topic_of(topic) for topic, _, _ in unsent} == {TRANSFERS}
    rejected = {
        (row["topic"], row["ledger_id"], row["entry_id"]) for row in live.rows("rejects") if row["topic"] in inside
    }
    first = {row["segment"] for row in stored.rows("segments") if row["topic"] == TRANSFERS and row["segment_id"] == 0}
    assert rejected == {one for one in unsent if one[0] in first}


def test_a_live_audit_says_what_it_does_not_know(live: Audited) -> None:
    codes = live.codes()
    assert codes["S57"] == sorted((CLICKS, LEGACY, TRANSFERS))
    assert codes["S54"] == [TRANSFERS]  # its children: an open transaction holds all of them back
    assert not {"S53", "S50"} & codes.keys()  # cursors of segments are not known
    assert live.result["verdict"]["complete"] is False


def test_one_scalable_topic_by_its_name(spark: SparkSession, stage: Stage, tmp_path: Path) -> None:
    found = run_one("inventory_ledgers", stage.cluster.service_url, tmp_path, **asked(stage, tmp_path, LEGACY))
    topics = {row["topic"] for row in found.rows("ledgers", "topic")}
    assert topics == {
        f"persistent://{NAMESPACE}/legacy-partition-0", f"persistent://{NAMESPACE}/legacy-partition-1",
        f"segment://{NAMESPACE}/legacy/0000-7fff-2", f"segment://{NAMESPACE}/legacy/8000-ffff-3",
    }  # fmt: skip


def test_reading_leaves_nothing_behind(live: Audited, stage: Stage) -> None:
    del live
    topics = stage.cluster.request("GET", f"/persistent/{NAMESPACE}")
    assert all("clicks" not in name and "transfers" not in name for name in topics)
