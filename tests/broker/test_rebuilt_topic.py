"""A topic made again from the files of its bookie: a real client reads from the new one what it read from the old."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pulsar
import pytest
from pulsar import CompressionType

from pulsar_backlog.cluster.access import read_access
from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.live.pace import Pace
from pulsar_backlog.ledgers.live.place import LivePlace
from pulsar_backlog.ledgers.live.service import Live
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.protocol.connection import Service
from pulsar_backlog.repair.rebuilding.content import as_sent, take_content
from pulsar_backlog.repair.rebuilding.publishing import NAME, published
from tests.broker.conftest import NAMESPACE, Admin
from tests.broker.process import Broker
from tests.broker.publishing import chunks, message, publish
from tests.broker.repairing import said_by

Read = tuple[Any, ...]


def write(client: pulsar.Client, topic: str) -> None:
    """What applications send: keys, properties, event times, batches, codecs, chunks between other messages."""
    plain = client.create_producer(topic, "plain", batching_enabled=False)
    batched = client.create_producer(
        topic, "batched", batching_enabled=True, batching_max_messages=10, compression_type=CompressionType.LZ4
    )
    chunked = client.create_producer(
        topic, "chunked", batching_enabled=False, chunking_enabled=True, compression_type=CompressionType.ZSTD
    )
    for number in range(30):
        plain.send(
            b"plain %d" % number, properties={"n": str(number), "ü": "✓"}, partition_key=f"key-{number % 3}",
            ordering_key=f"o-{number % 2}", event_timestamp=1_650_000_000_000 + number,
        )  # fmt: skip
        for member in range(3):
            batched.send_async(b"member %d" % member * 20, None, partition_key=f"b-{member}")
        if number % 10 == 0:
            chunked.send(os.urandom(150_000), properties={"large": str(number)})
    batched.flush()
    for producer in (plain, batched, chunked):
        producer.close()


def everything(client: pulsar.Client, topic: str) -> list[Read]:
    """All that a consumer sees of a topic, but for the ids."""
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    found = []
    while reader.has_message_available():
        one = reader.read_next(10_000)
        found.append((
            one.data(), one.properties(), one.partition_key(), one.ordering_key(), one.event_timestamp(),
            one.publish_timestamp(), one.producer_name(), one.message_id().batch_index(),
        ))  # fmt: skip
    reader.close()
    return found


def stored(broker: Broker, admin: Admin, topic: str) -> list[bytes]:
    """Entries as they lie there, without what the broker adds."""
    place = LivePlace(Live(broker.service_url, broker.admin_url, None, 1 << 40, str(broker.token_file)))
    ledgers = admin.get(topic, "internalStats")["ledgers"]
    last = admin.get(topic, "internalStats")["lastConfirmedEntry"].split(":")
    ends = {one["ledgerId"]: one["entries"] for one in ledgers} | {int(last[0]): int(last[1]) + 1}
    return [
        as_sent(found[1])  # type: ignore[arg-type]
        for ledger, count in ends.items()
        if count
        for found in place.entries(f"{topic}/{ledger}", 0, count - 1, 1000)
    ]


def files_of(broker: Broker, folder: Path) -> str:
    """The bookie's entry logs and journals, as they are copied off a disk."""
    (current, *_) = sorted(broker.log.parent.glob("bookkeeper*/**/current"))
    shutil.copytree(current, folder / "bookie" / "current", ignore=shutil.ignore_patterns("ledgers", "locations"))
    return f"bookies://{folder}/bookie"


def saved(admin: Admin, folder: Path, topic: str) -> Path:
    folder.mkdir()
    name = topic.removeprefix("persistent://").replace("/", "__")
    for kind in ("internalStats", "internal-info"):
        (folder / f"{name}.{kind}.json").write_text(json.dumps(admin.get(topic, kind)))
    return folder


class Stopped(Exception):  # noqa: N818 - what a kill is
    pass


class Killed(Pace):
    """Stops a run after some entries."""

    def __init__(self, after: int) -> None:
        super().__init__(1 << 40)
        self._left = after

    def spend(self, size: int) -> None:
        self._left -= 1
        if self._left < 0:
            raise Stopped
        super().spend(size)


def test_a_topic_is_rebuilt_from_the_files_of_its_bookie(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    write(client, topic)
    admin.request("PUT", f"/v2/{topic.replace('://', '/')}/unload")
    client.create_producer(topic, "later").send(b"in another ledger")
    source, new = files_of(broker, tmp_path), f"{topic}-again"
    state = saved(admin, tmp_path / "admin", topic)
    argv = ["rebuild-topic", source, "--topic", topic, "--admin", str(state), "--to-topic", new]
    reach = ["--service-url", broker.service_url, "--token-file", str(broker.token_file)]

    code, (told,) = said_by([*argv, *reach])
    assert (code, told["done"], told["damaged"], len(told["ledgers"])) == (0, False, 0, 2)
    assert new not in admin.request("GET", f"/v2/persistent/{NAMESPACE}")  # a dry run makes no topic

    # A run that is killed leaves a beginning; the next one goes on behind it.
    content = take_content(open_source(source), state, Scope(topics=(topic,)))
    access = read_access(broker.token_file, None, None, None, 30.0, {})
    with pytest.raises(Stopped):
        published(Service(broker.service_url, access), new, content, Killed(after=17))
    code, (told,) = said_by([*argv, *reach, "--yes"])
    assert (code, told["published_before"] + told["published_now"]) == (0, told["entries"])
    assert 0 < told["published_before"] <= 17
    assert told["chunks"] >= 9  # three messages of three chunks and more

    theirs = everything(client, topic)
    assert len(theirs) == 30 + 90 + 3 + 1
    assert everything(client, new) == theirs
    assert stored(broker, admin, new) == stored(broker, admin, topic)
    assert sorted(admin.get(new, "stats")["subscriptions"]) == [NAME]  # so that nothing is trimmed

    assert said_by([*argv, *reach, "--yes"])[0] == 99
    assert stored(broker, admin, new) == stored(broker, admin, topic)  # nothing twice


def test_a_topic_that_holds_something_else_is_left_alone(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    publish(broker, topic, [message(0, b"zero"), *chunks(1, os.urandom(900), 3, [0, 1, 2])])
    other = f"{topic}-other"
    publish(broker, other, [message(0, b"of another application")])
    state = saved(admin, tmp_path / "admin", topic)
    content = take_content(open_source(files_of(broker, tmp_path)), state, Scope(topics=(topic,)))
    before = stored(broker, admin, other)
    service = Service(broker.service_url, read_access(broker.token_file, None, None, None, 30.0, {}))
    with pytest.raises(SourceError, match="publish into a topic that holds nothing else"):
        published(service, other, content, Pace(1 << 40))
    assert stored(broker, admin, other) == before
    busy = client.create_producer(f"{topic}-busy", "theirs")
    with pytest.raises(SourceError, match="the broker refuses"):
        published(service, f"{topic}-busy", content, Pace(1 << 40))  # only where nobody else publishes
    busy.close()
