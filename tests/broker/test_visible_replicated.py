"""`visible` for replicated and delayed messages: rows are what readers get on the cluster that they came to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pulsar
import pytest

import pulsar_backlog
from tests.broker.conftest import Admin, topic_path
from tests.broker.geo import NAMESPACE, Region, connected_client, entries_of, two_regions, wait_until
from tests.broker.test_rebuilt_topic import files_of, saved

TOPIC = f"persistent://{NAMESPACE}/visible"
NAMES = ("payload", "replicated_from", "deliver_at_time")


@pytest.fixture
def regions(tmp_path: Path) -> Iterator[tuple[Region, Region]]:
    (tmp_path / "geo").mkdir()
    with two_regions(tmp_path / "geo") as made:
        yield made


def send(region: Region, texts: list[str], **how: Any) -> None:
    """Keyed messages; those of a key replace each other when the topic is compacted."""
    client = connected_client(region)
    try:
        producer = client.create_producer(TOPIC, f"from-{region.name}-{texts[0]}", batching_enabled=False)
        for text in texts:
            producer.send(text.encode(), partition_key=text[:1], **how)
    finally:
        client.close()


def read(region: Region, *, compacted: bool) -> list[bytes]:
    """All that a reader gets."""
    client = connected_client(region)
    try:
        reader = client.create_reader(TOPIC, pulsar.MessageId.earliest, is_read_compacted=compacted)
        found = []
        while reader.has_message_available():
            found.append(reader.read_next(10_000).data())
        return found
    finally:
        client.close()


def snapshots_of_subscriptions(region: Region) -> None:
    """A consumer whose state is replicated: brokers write markers into the topic for it."""
    client = connected_client(region)
    try:
        consumer = client.subscribe(TOPIC, "shared", replicate_subscription_state_enabled=True)
        before = entries_of(region, TOPIC)
        send(region, ["a for a snapshot"])
        consumer.acknowledge(consumer.receive(10_000))
        wait_until(lambda: entries_of(region, TOPIC) > before + 1, "a marker is written")
    finally:
        client.close()


def compact(admin: Admin) -> None:
    path = f"{topic_path(TOPIC)}/compaction"
    admin.request("PUT", path)
    wait_until(lambda: admin.request("GET", path)["status"] == "SUCCESS", "compaction")


def test_rows_are_what_readers_get(regions: tuple[Region, Region], tmp_path: Path) -> None:
    eu, us = regions
    snapshots_of_subscriptions(eu)
    send(eu, ["b from eu", "a from eu", "c from eu"])
    send(eu, ["d delayed"], deliver_after=timedelta(hours=1))
    wait_until(lambda: b"d delayed" in read(us, compacted=False), "replication")
    send(us, ["b from us", "e from us"])
    send(us, ["a delayed in us"], deliver_after=timedelta(hours=1))
    compact(us.admin)
    send(eu, ["c behind the horizon", "d behind the horizon"])
    wait_until(lambda: b"d behind the horizon" in read(us, compacted=False), "replication")

    told = {visible: read(us, compacted=visible == "compacted") for visible in ("committed", "compacted")}
    state = saved(us.admin, tmp_path / "saved", TOPIC)
    us.admin.request("PUT", f"{topic_path(TOPIC)}/unload")
    backlog = pulsar_backlog.open(files_of(us.broker, tmp_path), admin=str(state))
    rows = {
        visible: backlog.messages(TOPIC, visible=visible, columns=NAMES).read_all().to_pylist()
        for visible in ("committed", "compacted", "stored")
    }
    for visible, expected in told.items():
        assert [row["payload"] for row in rows[visible]] == expected
    assert rows["stored"] == rows["committed"]  # no transactions here; markers are no messages
    assert len(told["committed"]) == 10
    assert len(told["compacted"]) < len(told["committed"])
    entries = backlog.entries(TOPIC, columns=["marker_type"]).read_all().column("marker_type").to_pylist()
    assert any(kind is not None for kind in entries)
    assert {row["payload"] for row in rows["stored"] if row["replicated_from"] is None} == {
        b"b from us", b"e from us", b"a delayed in us",
    }  # fmt: skip
    assert {row["replicated_from"] for row in rows["stored"]} == {"eu", None}
    delayed = [row["payload"] for row in rows["stored"] if row["deliver_at_time"] is not None]
    assert sorted(delayed) == [b"a delayed in us", b"d delayed"]
