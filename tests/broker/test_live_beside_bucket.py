"""A topic half offloaded: old ledgers from the bucket and the rest from the broker, as if all were read live."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pulsar import ConsumerType, InitialPosition
from pyspark.sql import SparkSession

from tests.auditing import rows_of
from tests.broker.conftest import Admin, topic_path
from tests.broker.offloading import BUCKET, NAMESPACE, client_of, offload, offloading_broker
from tests.broker.process import Broker
from tests.broker.publishing import Position, batch, chunks, message, publish
from tests.broker.repairing import ROOT, said_by
from tests.ledgers.conftest import S3Server, aws, s3_server

__all__ = ["aws", "s3_server"]

TOPIC = f"persistent://{NAMESPACE}/orders"
LOCATION = ("cluster", "uri", "offset", "inner_offset", "block_length")
ADDED_BY_BROKER = ("has_broker_metadata", "index", "broker_timestamp", "length", "payload_offset")


@pytest.fixture(params=[True, False], ids=["metadata exposed", "metadata kept"])
def is_exposed(request: pytest.FixtureRequest) -> bool:
    """Whether the broker gives readers what it adds to entries."""
    return bool(request.param)


@pytest.fixture
def tiered(s3_server: S3Server, tmp_path: Path, is_exposed: bool) -> Iterator[Broker]:
    settings = {"exposingBrokerEntryMetadataToClientEnabled": str(is_exposed).lower()}
    with offloading_broker(s3_server, tmp_path / "broker", settings) as running:
        yield running


def write(broker: Broker, admin: Admin) -> list[list[Position]]:
    """Three ledgers, a message across each end; of the last one's only the beginning was ever sent."""
    first, second = (chunks(2 + n * 10, os.urandom(900), 3, [0, 1, 2]) for n in range(2))
    ledgers = [
        [message(0, b"zero"), batch(1, [b"a", b"b", b"c"]), *first[:1]],
        [*first[1:], message(5, b"five"), *second[:2]],
        [*second[2:], message(15, b"fifteen"), *chunks(16, os.urandom(900), 3, [0, 1]), message(19, b"after")],
    ]
    positions = []
    for number, entries in enumerate(ledgers):
        if number:
            admin.request("PUT", f"{topic_path(TOPIC)}/unload")
        positions.append(publish(broker, TOPIC, entries))
    return positions


def stall(broker: Broker) -> None:
    """A subscription that has acknowledged all that clients can deliver."""
    client = client_of(broker)
    consumer = client.subscribe(
        TOPIC, "s", consumer_type=ConsumerType.Shared, initial_position=InitialPosition.Earliest
    )
    for _ in range(9):
        consumer.acknowledge(consumer.receive(10_000))
    client.close()
    time.sleep(1)  # clients hold acknowledgements back for a moment


def line(broker: Broker, out: Path, *source: str) -> list[str]:
    return [
        "audit", *source, "--admin-url", broker.admin_url, "--token-file", str(broker.token_file), "--topic", TOPIC,
        "--out", str(out), "--cluster", "live", "--fail-on", "never", "--grace-seconds", "1",
    ]  # fmt: skip


def copied(s3_server: S3Server, folder: Path) -> Path:
    """The bucket's objects in a folder."""
    folder.mkdir()
    store = s3_server.client()
    for found in store.list_objects_v2(Bucket=BUCKET)["Contents"]:
        (folder / found["Key"]).write_bytes(store.get_object(Bucket=BUCKET, Key=found["Key"])["Body"].read())
    return folder


def without(rows: list[dict[str, Any]], *columns: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in columns} for row in rows]


def test_offloaded_ledgers_come_from_the_bucket_and_the_rest_from_the_broker(
    tiered: Broker, is_exposed: bool, s3_server: S3Server, aws: pytest.MonkeyPatch, tmp_path: Path,
    spark: SparkSession,
) -> None:  # fmt: skip
    admin = Admin(tiered)
    positions = write(tiered, admin)
    offload(admin, TOPIC)
    stall(tiered)
    time.sleep(1.5)  # the grace time
    pure, mixed, live = tmp_path / "pure", tmp_path / "mixed", ("--live", tiered.service_url)
    code, told = said_by(line(tiered, pure, tiered.service_url))
    assert code == 0, told
    if is_exposed:  # in a process of its own: Spark's workers have the environment that Spark was started in
        bucket = (f"s3://{BUCKET}", "--endpoint", s3_server.endpoint)
        argv = [sys.executable, "-m", "pulsar_backlog.cli", *line(tiered, mixed, *bucket, *live)]
        done = subprocess.run(
            argv, env=os.environ | {"PYTHONPATH": str(ROOT / "lib")}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    else:
        code, told = said_by(line(tiered, mixed, str(copied(s3_server, tmp_path / "folder")), *live))
        assert code == 0, told
    hidden = () if is_exposed else ADDED_BY_BROKER
    expected = rows_of(pure, "entries")
    assert [(row["ledger_id"], row["entry_id"]) for row in expected] == [one for each in positions for one in each]
    rows = rows_of(mixed, "entries")
    assert without(rows, *LOCATION, *hidden) == without(expected, *LOCATION, *hidden)
    copies = rows_of(mixed, "ledgers", "ledger_id", "kind", "selected", "status")
    assert [(row["kind"], row["selected"], row["status"]) for row in copies] == [
        ("jcloud", True, "ok"), ("jcloud", True, "ok"), ("live", True, "ok"),
    ]  # fmt: skip
    assert [row["uri"].startswith(TOPIC) for row in rows] == [
        number == 2 for number, each in enumerate(positions) for _ in each
    ]
    assert not {row["code"] for row in rows_of(mixed, "findings", "code")} & {"S06", "S13", "S16", "S41", "E02"}
    for out, sureness in ((pure, "certain" if is_exposed else "likely"), (mixed, "certain")):
        (row,) = rows_of(out, "stalls")
        stuck = [(one["ledger_id"], one["entry_id"]) for one in row["unacked_positions"]]
        assert (row["subscription"], row["kind"], stuck) == ("s", "orphan_hole", positions[2][2:4]), row
        said = rows_of(out, "chunked_messages", "chunk_uuid", "state", "sureness", "reason")
        assert [(one["chunk_uuid"], one["state"]) for one in said] == [
            ("by-hand-12", "whole"), ("by-hand-16", "orphan_prefix"), ("by-hand-2", "whole"),
        ]  # fmt: skip
        assert [one["sureness"] for one in said] == ["certain", sureness, "certain"], said
