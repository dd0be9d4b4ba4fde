"""A real S3 server, and what was audited into it; `make test-cluster` runs these, `make test` leaves them out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.auditing import copy_ledgers
from tests.spark_cluster.cluster import Cluster, running_cluster, zipped
from tests.spark_cluster.running import AUDIT, BUCKET, Bucket, command, filled
from tests.stores.servers import running_s3

collect_ignore_glob = [] if os.environ.get("PULSAR_BACKLOG_TEST_CLUSTER") else ["test_*.py"]

LEDGERS = (5, 22, 24, 28, 292, 296)
"""Of the bundled backlog: broken chunk sets, batches, codecs; some of subscriptions that are stalled."""


@pytest.fixture(scope="session")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    """The server, with an empty bucket for results."""
    with running_s3(tmp_path_factory.mktemp("s3"), "transient") as store:
        store.fill(BUCKET, {})
        yield Bucket(store)


@pytest.fixture(scope="session")
def cluster(bucket: Bucket, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Master and workers, and what is sent to them."""
    folder = tmp_path_factory.mktemp("cluster")
    zipped(folder)
    with running_cluster(folder, bucket) as started:
        yield started


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a few ledgers."""
    return copy_ledgers(tmp_path_factory.mktemp("source") / "objects", LEDGERS)


@pytest.fixture(scope="session")
def source_bucket(source: Path, bucket: Bucket) -> str:
    """The same ledgers in a bucket."""
    return filled(bucket, "ledgers", source)


@pytest.fixture(scope="session")
def local_audit(source_bucket: str, bucket: Bucket, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one machine makes of them in a folder: what all others are compared with."""
    out = tmp_path_factory.mktemp("local") / "audit"
    done = command(bucket, "audit", source_bucket, *AUDIT, "--out", out)
    assert done.returncode == 0, done.stderr
    return out
