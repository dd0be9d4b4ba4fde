"""A broker that offloads to a bucket of an S3 server on loopback, and topics offloaded up to a position."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pulsar

from tests.broker.conftest import Admin, topic_path
from tests.broker.distribution import offloaders
from tests.broker.process import BRIEF, Broker, running_broker
from tests.ledgers.conftest import S3Server

BUCKET = "offloaded"
NAMESPACE = "lab/tiered"
WAIT_SECONDS = 60


@contextmanager
def offloading_broker(
    s3_server: S3Server, folder: Path, settings: Mapping[str, str] | None = None, jvm: Sequence[str] = BRIEF
) -> Iterator[Broker]:
    """A broker with a namespace, whose bucket is empty; `jvm` has options for its Java."""
    store = s3_server.client()
    store.create_bucket(Bucket=BUCKET)
    for found in store.list_objects_v2(Bucket=BUCKET).get("Contents", []):
        store.delete_object(Bucket=BUCKET, Key=found["Key"])
    tiered = {
        "offloadersDirectory": str(offloaders()),
        "managedLedgerOffloadDriver": "S3",  # not aws-s3, which asks AWS for the bucket's region
        "managedLedgerOffloadBucket": BUCKET,
        "managedLedgerOffloadRegion": "us-east-1",
        "managedLedgerOffloadServiceEndpoint": s3_server.endpoint,
        "managedLedgerOffloadMaxBlockSizeInBytes": str(5 * 1024 * 1024),
    }
    keys = {"ACCESS_KEY_ID": "key", "ACCESS_KEY_SECRET": "secret"}
    folder.mkdir()
    with running_broker(folder, {**tiered, **(settings or {})}, keys, jvm=jvm) as running:
        admin = Admin(running)
        admin.request("PUT", "/v2/tenants/lab", {"allowedClusters": ["standalone"], "adminRoles": ["admin"]})
        admin.request("PUT", f"/v2/namespaces/{NAMESPACE}", {})
        yield running


def offload(admin: Admin, topic: str) -> None:
    """Have all closed ledgers of a topic offloaded."""
    last = admin.get(topic, "internalStats")["ledgers"][-1]
    admin.request("PUT", f"{topic_path(topic)}/offload", {"ledgerId": last["ledgerId"], "entryId": 0})
    deadline = time.monotonic() + WAIT_SECONDS
    while (said := admin.get(topic, "offload"))["status"] != "SUCCESS":
        assert said["status"] in ("RUNNING", "NOT_RUN") and time.monotonic() < deadline, said
        time.sleep(0.2)


def client_of(broker: Broker) -> pulsar.Client:
    """A client of a role that may do everything."""
    return pulsar.Client(
        broker.service_url,
        authentication=pulsar.AuthenticationToken(broker.token_file.read_text()),
        logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error),
    )
