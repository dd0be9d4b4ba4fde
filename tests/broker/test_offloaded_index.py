"""A topic whose index object is lost cannot be read; with the one that `rebuild-index` makes it can."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from pulsar_backlog.cli import run_cli
from tests.broker.conftest import Admin, topic_path
from tests.broker.distribution import offloaders
from tests.broker.process import Broker, running_broker
from tests.ledgers.conftest import S3Server, aws, s3_server

__all__ = ["aws", "s3_server"]

BUCKET = "offloaded"
TOPIC = "persistent://lab/tiered/orders"
PAYLOADS = [number.to_bytes(4) * 10_000 for number in range(150)]
"""6 MB: two blocks of the least size that a broker takes."""
WAIT_SECONDS = 60


@pytest.fixture
def offloading(s3_server: S3Server, tmp_path: Path) -> Iterator[Broker]:
    """A broker that offloads to the S3 server."""
    s3_server.client().create_bucket(Bucket=BUCKET)
    settings = {
        "offloadersDirectory": str(offloaders()),
        "managedLedgerOffloadDriver": "S3",  # not aws-s3, which asks AWS for the bucket's region
        "managedLedgerOffloadBucket": BUCKET,
        "managedLedgerOffloadRegion": "us-east-1",
        "managedLedgerOffloadServiceEndpoint": s3_server.endpoint,
        "managedLedgerOffloadMaxBlockSizeInBytes": str(5 * 1024 * 1024),
    }
    keys = {"ACCESS_KEY_ID": "key", "ACCESS_KEY_SECRET": "secret"}
    folder = tmp_path / "broker"
    folder.mkdir()
    with running_broker(folder, settings, keys) as running:
        admin = Admin(running)
        admin.request("PUT", "/v2/tenants/lab", {"adminRoles": ["admin"], "allowedClusters": ["standalone"]})
        admin.request("PUT", "/v2/namespaces/lab/tiered", {})
        yield running


def client_of(broker: Broker) -> pulsar.Client:
    return pulsar.Client(
        broker.service_url,
        authentication=pulsar.AuthenticationToken(broker.token_file.read_text()),
        logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error),
    )


def offload(broker: Broker) -> None:
    """Send, close the ledger, and have all of it offloaded."""
    admin, client = Admin(broker), client_of(broker)
    producer = client.create_producer(TOPIC, batching_enabled=False)
    for payload in PAYLOADS:
        producer.send(payload)
    client.close()
    admin.request("PUT", f"{topic_path(TOPIC)}/unload")
    ledgers = admin.get(TOPIC, "internalStats")["ledgers"]
    admin.request("PUT", f"{topic_path(TOPIC)}/offload", {"ledgerId": ledgers[-1]["ledgerId"], "entryId": 0})
    deadline = time.monotonic() + WAIT_SECONDS
    while (said := admin.get(TOPIC, "offload"))["status"] != "SUCCESS":
        assert said["status"] in ("RUNNING", "NOT_RUN") and time.monotonic() < deadline, said
        time.sleep(0.2)


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
    offload(offloading)
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
