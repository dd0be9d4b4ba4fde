"""Which topics of a real broker a live audit reads: partitions, globs and whole namespaces, each topic for itself."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.auditing import rows_of
from tests.broker.conftest import Admin
from tests.broker.process import Broker
from tests.broker.publishing import message, publish
from tests.broker.repairing import said_by

NAMESPACE = "lab/many-live"
TOPICS = {"parted-partition-0": 3, "parted-partition-1": 2, "single": 4, "elsewhere": 5}


def fill(broker: Broker, admin: Admin) -> None:
    admin.request("PUT", f"/v2/namespaces/{NAMESPACE}", {})
    admin.request("PUT", f"/v2/persistent/{NAMESPACE}/parted/partitions", 2)
    for name, count in TOPICS.items():
        publish(broker, f"persistent://{NAMESPACE}/{name}", [message(n, b"%d" % n) for n in range(count)])


def read(broker: Broker, out: Path, *globs: str) -> dict[str, int]:
    """How many entries a live audit finds in each topic, by its name without the namespace."""
    code, said = said_by([
        "audit", broker.service_url, "--admin-url", broker.admin_url, "--token-file", str(broker.token_file),
        *(word for glob in globs for word in ("--topic", glob)), "--out", str(out), "--cluster", "live",
        "--fail-on", "never", "--grace-seconds", "1",
    ])  # fmt: skip
    assert code == 0, said
    topics = [row["topic"].rpartition("/")[2] for row in rows_of(out, "entries")]
    return {name: topics.count(name) for name in sorted(set(topics))}


def test_partitions_globs_and_a_namespace(broker: Broker, admin: Admin, tmp_path: Path, spark: SparkSession) -> None:
    fill(broker, admin)
    both = {name: TOPICS[name] for name in ("parted-partition-0", "parted-partition-1")}
    place = f"persistent://{NAMESPACE}"
    assert read(broker, tmp_path / "parted", f"{place}/parted") == both
    assert read(broker, tmp_path / "globs", f"{place}/s*", f"{place}/*-1") == {"parted-partition-1": 2, "single": 4}
    assert read(broker, tmp_path / "all", f"{NAMESPACE}/*") == dict(sorted(TOPICS.items()))
