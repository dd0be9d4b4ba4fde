"""The internal ledgers of a 4.0.8 broker, out of its bookie's files and its metadata store: each is known and read."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pulsar

from tests.auditing import rows_of, run_one
from tests.broker.conftest import Admin, topic_path
from tests.broker.distribution import broker_home
from tests.broker.geo import wait_until
from tests.broker.offloading import client_of
from tests.broker.process import Broker, running_broker

TOPIC = "persistent://lab/state/orders"
PROGRAM = Path(__file__).with_name("DumpStore.java")
LATER_MS = int(time.time() * 1000) + 3_600_000
DELAYED = "org.apache.pulsar.broker.delayed"
SCHEMAS = [
    {"type": "JSON", "schema": json.dumps({"type": "record", "name": "Order", "fields": fields}), "properties": {}}
    for fields in (
        [{"name": "id", "type": "long"}],
        [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}],
    )
]


def write(broker: Broker) -> None:
    """Two schemas, policies of a topic, acknowledgements with holes, a compacted ledger, delayed messages."""
    admin, path = Admin(broker), topic_path(TOPIC)
    admin.request("PUT", "/v2/tenants/lab", {"adminRoles": ["admin"], "allowedClusters": ["standalone"]})
    admin.request("PUT", "/v2/namespaces/lab/state", {})
    admin.request("POST", "/v2/namespaces/lab/state/deduplication", True)
    client = client_of(broker)
    consumer = client.subscribe(TOPIC, "billing", pulsar.ConsumerType.Shared)
    for schema in SCHEMAS:
        admin.request("POST", f"/v2/schemas/{TOPIC.removeprefix('persistent://')}/schema", schema)
    admin.request("POST", f"{path}/messageTTL?messageTTL=3600")
    admin.request("POST", f"{path}/compactionThreshold", 1 << 40)
    producer = client.create_producer(TOPIC, batching_enabled=False, producer_name="writer")
    for number in range(40):
        producer.send(b"%d" % number, partition_key=f"k{number % 3}")
    for number in range(40):
        message = consumer.receive(5000)
        if number % 2:
            consumer.acknowledge(message)
    wait_until(
        lambda: admin.get(TOPIC, "stats")["subscriptions"]["billing"]["msgBacklog"] == 20, "half is acknowledged"
    )
    for _ in range(2):  # a bucket is sealed when the next ledger begins
        for _ in range(8):
            producer.send(b"later", deliver_at=LATER_MS)
        admin.request("PUT", f"{path}/unload")
    producer.send(b"later", deliver_at=LATER_MS)
    wait_until(
        lambda: "#pulsar.internal.delayed.bucket" in json.dumps(admin.get(TOPIC, "stats")["subscriptions"]), "a bucket"
    )
    admin.request("PUT", f"{path}/compaction")
    wait_until(lambda: admin.get(TOPIC, "compaction")["status"] == "SUCCESS", "the compacted ledger")
    client.close()
    admin.request("PUT", f"{path}/unload")


def dumped(folder: Path, scratch: Path) -> dict[str, Any]:
    """Every node of the metadata store of a broker that has ended."""
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    command = [
        str(java), "-Xmx300m", f"-Djava.io.tmpdir={scratch}", "--add-opens", "java.base/java.lang=ALL-UNNAMED",
        "-cp", f"{broker_home()}/lib/*", str(PROGRAM), f"rocksdb://{folder / 'metadata'}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    nodes = [line.split("\t") for line in done.stdout.splitlines() if line.startswith("/")]
    return {path: {"b64": value, "mtime": int(changed)} for path, value, changed in nodes}


def test_each_is_known_and_read(tmp_path: Path) -> None:
    folder, scratch, saved = (tmp_path / name for name in ("broker", "scratch", "saved"))
    for one in (folder, scratch, saved):
        one.mkdir()
    delayed = {
        "delayedDeliveryTrackerFactoryClassName": f"{DELAYED}.BucketDelayedDeliveryTrackerFactory",
        "delayedDeliveryMinIndexCountPerBucket": "4",
        "delayedDeliveryMaxTimeStepPerBucketSnapshotSegmentSeconds": "300",
    }
    with running_broker(folder, delayed) as broker:
        write(broker)
    (saved / "metadata-store.json").write_text(json.dumps(dumped(folder, scratch)))
    out = tmp_path / "out"
    for job in ("inventory_ledgers", "scan_entries", "decode_internals"):
        assert run_one(job, folder / "bookkeeper", out, admin=saved).exit_code in (0, 1, 4)
    stored = [row for row in rows_of(out, "internal_ledgers") if row["entries"] is not None]
    assert {(row["verdict"], row["unread_entries"], row["faults"]) for row in stored} == {("ok", 0, 0)}
    assert Counter(row["kind"] for row in stored if row["name"] is None or "lab/state" in row["name"]) == {
        "schema": 3, "topic_policies": 1, "cursor": 2, "delayed_bucket": 2, "compacted": 1,
    }  # fmt: skip
    # Both cursors were closed: the metadata store has their state, and BookKeeper deleted the ledgers.
    assert all(bool(row["holders"]) != (row["kind"] == "cursor") for row in stored)
    versions = [row for row in rows_of(out, "schema_versions") if row["schema_id"] == "lab/state/orders"]
    assert {row["version"]: json.loads(row["definition"]) for row in versions} == {
        version: json.loads(schema["schema"]) for version, schema in enumerate(SCHEMAS)
    }
    (policies,) = [row for row in rows_of(out, "topic_policies") if row["is_current"]]
    assert policies["about_topic"] == TOPIC
    assert (
        json.loads(policies["policies"]).items()
        >= {"messageTTLInSeconds": 3600, "compactionThreshold": 1 << 40}.items()
    )
    (compacted,) = rows_of(out, "compacted_ledgers")
    assert (compacted["entries"], compacted["is_current"]) == (3, True)
    assert {row["ranges"] for row in rows_of(out, "cursor_states") if row["encoding"] != "none"} == {20}
    assert [row["messages"] for row in rows_of(out, "delayed_buckets")] == [8, 8]
    indexes = rows_of(out, "delayed_indexes")
    assert len(indexes) == 16
    assert {int(row["deliver_time"].timestamp() * 1000) for row in indexes} == {LATER_MS}
