"""Every job on a standalone cluster, results in a bucket: tables as of one machine, and no more work than needed.

Of the scan the driver is killed, then an executor, and then a task is tried twice at once.
"""

from __future__ import annotations

import json
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
from tests.spark_cluster.cluster import Cluster, Work
from tests.spark_cluster.gate import Gate, gate_before
from tests.spark_cluster.running import AUDIT, BUCKET, Bucket, differing

PREFIX = "cluster"
MOST = Work(jobs=40, tasks=90)
"""What a job may ask of Spark for these few ledgers: the report asks for 30 jobs, analyze_subscriptions for 65 tasks.
Of 200 partitions of a shuffle and 50 of a table's log, which are the defaults, the chunks alone made 1,800 tasks."""
WRITTEN = f"/{BUCKET}/{PREFIX}/tables/entries/part-"
SPECULATION = ("spark.speculation=true", "spark.speculation.task.duration.threshold=1s")


@dataclass(frozen=True)
class Audited:
    """What became of the audit.

    Attributes:
        work: what each job asked of Spark.
        of_killed_driver: files of `entries` that the killed driver's task wrote.
        of_lost_tasks: those of tasks that were lost, or tried twice.
    """

    work: dict[str, Work]
    of_killed_driver: list[str]
    of_lost_tasks: list[str]


@pytest.fixture(scope="module")
def audited(cluster: Cluster, source_bucket: str) -> Audited:
    """All jobs of an audit, one after the other."""
    given = {"source": source_bucket, "out": f"s3a://{BUCKET}/{PREFIX}", "admin": str(ADMIN), "cluster": "eu-1",
             "fail_on": "never"}  # fmt: skip
    pipeline, work = load_pipelines().get("audit"), {}
    lost: list[list[str]] = []
    for job in (entry.job for entry in pipeline.jobs):
        argv = job_argv(pipeline, job, given)
        if job == "scan_entries":
            with gate_before(cluster.bucket.store.endpoint) as gate:
                lost = [kill_the_driver(cluster, gate, argv), kill_an_executor(cluster, gate, argv)]
        else:
            done = cluster.submit(job, *argv)
            assert done.returncode == 0, f"{job}: {done.stderr[-3000:]}"
        work[job] = cluster.work(job)
    return Audited(work, *lost)


def kill_the_driver(cluster: Cluster, gate: Gate, argv: list[str]) -> list[str]:
    """The scan, killed when the first file of `entries` lies in the bucket; that file."""
    gate.hold(WRITTEN)
    driver = cluster.start("scan_entries", *argv, endpoint=gate.endpoint)
    with ended(driver):
        gate.wait_for(1)
        os.killpg(driver.pid, signal.SIGKILL)
        driver.communicate(timeout=60)
    assert driver.returncode == -signal.SIGKILL
    return gate.stored


def kill_an_executor(cluster: Cluster, gate: Gate, argv: list[str]) -> list[str]:
    """The scan again: an executor is killed when its file is written, and another attempt hangs there; both files."""
    gate.hold(WRITTEN, times=2)
    driver = cluster.start("scan_entries", *argv, endpoint=gate.endpoint, conf=SPECULATION)
    with ended(driver):
        gate.wait_for(1)
        os.kill(cluster.busy_executors()[0], signal.SIGKILL)
        gate.wait_for(2)
        _, said = driver.communicate(timeout=300)
    assert driver.returncode == 0, said[-3000:]
    return gate.stored


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """A process that does not outlive the block."""
    with process:
        try:
            yield
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def test_the_tables_are_those_of_one_machine(audited: Audited, bucket: Bucket, local_audit: Path) -> None:
    assert differing(bucket, PREFIX, local_audit) == {}


def test_what_lost_tasks_wrote_counts_for_nothing_and_is_removed(audited: Audited, bucket: Bucket) -> None:
    assert (len(audited.of_killed_driver), len(audited.of_lost_tasks)) == (1, 2)
    stored = {key for key in bucket.keys(f"{PREFIX}/tables/entries") if key.startswith("part-")}
    added: Any = bucket.table(PREFIX, "entries").get_add_actions(flatten=True)
    named = {str(path) for path in added.column("path").to_pylist()}
    assert len(named) == 1
    # Nobody is left to remove what the killed driver's task wrote.
    assert stored == named | {path.rpartition("/")[2] for path in audited.of_killed_driver}


def test_the_report_lies_beside_them(audited: Audited, bucket: Bucket, local_audit: Path) -> None:
    result = json.loads(bucket.body(f"{PREFIX}/result.json"))
    assert result["counts"] == json.loads((local_audit / "result.json").read_text())["counts"]
    assert {"report.html", "repairs.html", "data_docs/index.html"} <= bucket.keys(PREFIX)


def test_the_work_is_bounded(audited: Audited) -> None:
    assert {job: work for job, work in audited.work.items() if not work.within(MOST)} == {}


def test_the_whole_audit_is_one_application(
    cluster: Cluster, source_bucket: str, bucket: Bucket, local_audit: Path
) -> None:
    done = cluster.submit_whole("audit", source_bucket, *AUDIT, "--out", f"s3a://{BUCKET}/{PREFIX}-whole")
    assert done.returncode == 0, done.stderr[-3000:]
    assert differing(bucket, f"{PREFIX}-whole", local_audit) == {}
