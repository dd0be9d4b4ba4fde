"""Every job on a standalone cluster, results in a bucket: tables as of one machine, and no more work than needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pulsar_backlog.config import job_argv, load_pipelines
from tests.auditing import ADMIN
from tests.spark_cluster.cluster import Cluster, Work
from tests.spark_cluster.running import BUCKET, Bucket, differing

PREFIX = "cluster"
MOST = Work(jobs=160, tasks=400)
"""What a job may ask of Spark for these few ledgers; assemble_chunks asks for 94 and 199. Spark's own 200 partitions of
a shuffle and Delta's 50 of a table's log made 1,800 tasks of it."""


@pytest.fixture(scope="module")
def audited(cluster: Cluster, source_bucket: str) -> dict[str, Work]:
    """All jobs of an audit, one after the other; what each asked of Spark."""
    given = {"source": source_bucket, "out": f"s3a://{BUCKET}/{PREFIX}", "admin": str(ADMIN), "cluster": "eu-1",
             "fail_on": "never"}  # fmt: skip
    pipeline, work = load_pipelines().get("audit"), {}
    for job in (entry.job for entry in pipeline.jobs):
        done = cluster.submit(job, *job_argv(pipeline, job, given))
        assert done.returncode == 0, f"{job}: {done.stderr[-3000:]}"
        work[job] = cluster.work(job)
    return work


def test_the_tables_are_those_of_one_machine(audited: dict[str, Work], bucket: Bucket, local_audit: Path) -> None:
    assert differing(bucket, PREFIX, local_audit) == {}


def test_the_report_lies_beside_them(audited: dict[str, Work], bucket: Bucket, local_audit: Path) -> None:
    result = json.loads(bucket.body(f"{PREFIX}/result.json"))
    assert result["counts"] == json.loads((local_audit / "result.json").read_text())["counts"]
    assert {"report.html", "repairs.html", "data_docs/index.html"} <= bucket.keys(PREFIX)


def test_the_work_is_bounded(audited: dict[str, Work]) -> None:
    assert {job: work for job, work in audited.items() if not work.within(MOST)} == {}
