"""A topic whose index object is lost cannot be read; with the one that `rebuild-index` makes it can."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from pulsar_backlog.cli import run_cli
from tests.broker.conftest import Admin, topic_path
from tests.broker.offloading import BUCKET, WAIT_SECONDS, client_of, offload, offloading_broker
from tests.broker.process import Broker
from tests.ledgers.conftest import S3Server, aws, s3_server

__all__ = ["aws", "s3_server"]

TOPIC = "persistent://lab/tiered/orders"
PAYLOADS = [number.to_bytes(4) * 10_000 for number in range(150)]
"""6 MB: two blocks of the least size that a broker takes."""


@pytest.fixture
def offloading(s3_server: S3Server, tmp_path: Path) -> Iterator[Broker]:
    with offloading_broker(s3_server, tmp_path / "broker") as running:
        yield running


def write(broker: Broker) -> None:
    """Send, close the ledger, and have all of it offloaded."""
    client = client_of(broker)
    producer = client.create_producer(TOPIC, batching_enabled=False)
    for payload in PAYLOADS:
        producer.send(payload)
    client.close()
    admin = Admin(broker)
    admin.request("PUT", f"{topic_path(TOPIC)}/unload")
    offload(admin, TOPIC)


def read(broker: Broker, wait_ms: int) -> list[bytes]:
    """What a reader gets of the topic from its beginning, until nothing came for a while, or all did."""
    admin, client = Admin(broker), client_of(broker)
    admin.request("PUT", f"{topic_path(TOPIC)}/unload")  # the broker keeps what it has opened
    reader = client.create_reader(TOPIC, pulsar.MessageId.earliest)
    got: list[bytes] = []
    try:
        while len(got) < len(PAYLOADS):
            got.append(reader.read_next(wait_ms).data())
    except pulsar.Timeout:
        pass
    client.close()
    return got


def test_a_lost_index(
    offloading: Broker, s3_server: S3Server, aws: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    write(offloading)
    store = s3_server.client()
    keys = [found["Key"] for found in store.list_objects_v2(Bucket=BUCKET)["Contents"]]
    (data,) = (key for key in keys if not key.endswith("-index"))
    real = store.get_object(Bucket=BUCKET, Key=f"{data}-index")
    body, metadata = real["Body"].read(), real["Metadata"]
    store.delete_object(Bucket=BUCKET, Key=f"{data}-index")
    assert read(offloading, 5000) == []

    admin = tmp_path / "admin"
    admin.mkdir()
    for kind in ("internalStats", "internal-info"):
        said = json.dumps(Admin(offloading).get(TOPIC, kind))
        (admin / f"lab__tiered__orders.{kind}.json").write_text(said)
    aws.setattr(sys, "argv", [
        "pulsar-backlog", "rebuild-index", f"s3://{BUCKET}", data.rsplit("-", 1)[1], "--endpoint", s3_server.endpoint,
        "--to", str(tmp_path / "made"), "--admin", str(admin),
    ])  # fmt: skip
    with pytest.raises(SystemExit) as ended:
        run_cli()
    assert not ended.value.code
    said = json.loads(capsys.readouterr().out)
    assert (said["places"], said["entries"]) == (2, len(PAYLOADS))
    assert "how many entries" not in " ".join(said["unknown"])
    made = Path(said["file"]).read_bytes()
    assert said["object_metadata"] == metadata
    assert made[-40:] == body[-40:]  # both blocks as the offloader names them

    store.put_object(Bucket=BUCKET, Key=f"{data}-index", Body=made, Metadata=said["object_metadata"])
    assert read(offloading, WAIT_SECONDS * 1000) == PAYLOADS
    assert [path.name for path in (tmp_path / "made").iterdir()] == [f"{data}-index"]
