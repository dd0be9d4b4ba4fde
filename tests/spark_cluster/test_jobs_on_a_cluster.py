"""The scan on a standalone cluster, killed and started again, results in a bucket: tables as of one machine.

First the driver is killed; then, with an archived environment, an executor, and after that a task is tried twice.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.config import job_argv, load_pipelines
from tests.auditing import ADMIN
from tests.spark_cluster.cluster import Cluster, archived
from tests.spark_cluster.gate import Gate, gate_before
from tests.spark_cluster.running import BUCKET, LIMIT_SECONDS, Bucket, differing

PREFIX = "cluster"
WRITTEN = f"/{BUCKET}/{PREFIX}/tables/entries/part-"
TABLES = {"ledgers", "inventory", "scans", "entries", "entry_spans", "ledger_facts", "noted_entries", "producer_facts"}
"""What these two jobs write alone; `rejects` of whole objects has no rows."""
SPECULATION = ("spark.speculation=true", "spark.speculation.task.duration.threshold=1s")


@dataclass(frozen=True)
class Scanned:
    """What became of the scan.

    Attributes:
        of_killed_driver: files of `entries` that the killed driver's task wrote.
        of_lost_tasks: those of tasks that were lost, or tried twice.
        python: what the executor that was killed ran.
    """

    of_killed_driver: list[str]
    of_lost_tasks: list[str]
    python: str


@pytest.fixture(scope="module")
def scanned(cluster: Cluster, source_bucket: str, tmp_path_factory: pytest.TempPathFactory) -> Scanned:
    """Inventory and scan."""
    given = {"source": source_bucket, "out": f"s3a://{BUCKET}/{PREFIX}", "admin": str(ADMIN), "cluster": "eu-1",
             "fail_on": "never"}  # fmt: skip
    pipeline = load_pipelines().get("audit")
    done = cluster.submit("inventory_ledgers", *job_argv(pipeline, "inventory_ledgers", given))
    assert done.returncode == 0, done.stderr[-3000:]
    argv = job_argv(pipeline, "scan_entries", given)
    archive = archived(tmp_path_factory.mktemp("archive"))
    with gate_before(cluster.bucket.store.endpoint) as gate:
        of_killed_driver = kill_the_driver(cluster, gate, argv)
        return Scanned(of_killed_driver, *kill_an_executor(cluster, gate, argv, archive))


def kill_the_driver(cluster: Cluster, gate: Gate, argv: list[str]) -> list[str]:
    """The scan, killed when the first file of `entries` lies in the bucket; that file."""
    gate.hold(WRITTEN)
    driver = cluster.start("scan_entries", *argv, endpoint=gate.endpoint)
    with ended(driver):
        gate.wait_for(1)
        os.killpg(driver.pid, signal.SIGKILL)
        driver.communicate(timeout=LIMIT_SECONDS)
    assert driver.returncode == -signal.SIGKILL
    return gate.stored


def kill_an_executor(cluster: Cluster, gate: Gate, argv: list[str], archive: Path) -> tuple[list[str], str]:
    """The scan again: an executor is killed when its file is written, and another attempt hangs there.

    Returns:
        both files, and the Python of the executor that was killed.
    """
    gate.hold(WRITTEN, times=2)
    sent = (f"spark.archives={archive}#environment", "spark.pyspark.python=./environment/bin/python")
    driver = cluster.start("scan_entries", *argv, endpoint=gate.endpoint, conf=(*SPECULATION, *sent))
    with ended(driver):
        gate.wait_for(1)
        executor, python = next(iter(cluster.busy_executors().items()))
        os.kill(executor, signal.SIGKILL)
        gate.wait_for(2)
        _, said = driver.communicate(timeout=LIMIT_SECONDS)
    assert driver.returncode == 0, said[-3000:]
    return gate.stored, python


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """A process that does not outlive the block."""
    with process:
        try:
            yield
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def test_the_tables_are_those_of_one_machine(scanned: Scanned, bucket: Bucket, local_audit: Path) -> None:
    assert differing(bucket, PREFIX, local_audit, TABLES) == {}


def test_what_lost_tasks_wrote_counts_for_nothing_and_is_removed(scanned: Scanned, bucket: Bucket) -> None:
    assert (len(scanned.of_killed_driver), len(scanned.of_lost_tasks)) == (1, 2)
    stored = {key for key in bucket.keys(f"{PREFIX}/tables/entries") if key.startswith("part-")}
    added: Any = bucket.table(PREFIX, "entries").get_add_actions(flatten=True)
    named = {str(path) for path in added.column("path").to_pylist()}
    assert len(named) == 1
    # Nobody is left to remove what the killed driver's task wrote.
    assert stored == named | {path.rpartition("/")[2] for path in scanned.of_killed_driver}


def test_an_archived_environment_runs_the_tasks(scanned: Scanned) -> None:
    assert scanned.python == "./environment/bin/python"
