"""The DAG run by Airflow itself, whose operator sends all jobs to the cluster: tables as of one machine.

No job asks Spark for more work than it needs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pulsar_backlog import __version__
from pulsar_backlog.config import load_pipelines
from tests.auditing import ADMIN
from tests.spark_cluster.cluster import EXECUTOR_MEMORY, Cluster, Work
from tests.spark_cluster.running import BUCKET, LIMIT_SECONDS, ROOT, Bucket, differing, make_programs

AIRFLOW = ROOT / ".venv-airflow" / "bin"
PAGE = (ROOT / "docs" / "cluster.md").read_text()
(BLOCK,) = (one for one in re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL) if "airflow dags" in one)
PREFIX = "airflow"
MOST = Work(jobs=40, tasks=90)
"""What a job may ask of Spark for these few ledgers: the report asks for 30 jobs, analyze_subscriptions for 65 tasks.
Of 200 partitions of a shuffle and 50 of a table's log, which are the defaults, the chunks alone made 1,800 tasks."""


@pytest.fixture(scope="module")
def home(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of our own, whose pipelines name the cluster of the local audit and ask for small executors."""
    made = tmp_path_factory.mktemp("airflow") / "house"
    for name in ("jobs", "conf"):
        shutil.copytree(ROOT / name, made / name)
    (made / "lib").symlink_to(ROOT / "lib")
    make_programs(made)
    (made / "dist").mkdir()
    shutil.copy(cluster.folder / "pulsar_backlog.zip", made / "dist" / f"pulsar_backlog-{__version__}.zip")
    text = (ROOT / "pipelines.yaml").read_text().replace("  cluster: default ", "  cluster: eu-1 ", 1)
    memory = {"spark.executor.memory": EXECUTOR_MEMORY, "spark.driver.memory": EXECUTOR_MEMORY}
    options = {f"spark.{who}.extraJavaOptions": cluster.java_options for who in ("driver", "executor")}
    recorded = dict(setting.split("=", 1) for setting in cluster.recorded)
    settings = f"    spark: {json.dumps(memory | options | recorded)}\n"
    (made / "pipelines.yaml").write_text(text.replace('    schedule: "0 3 * * *"\n', settings, 1))
    return made


def environment(home: Path, cluster: Cluster) -> dict[str, str]:
    """Airflow's own environment first, as where it is activated: it has a `pyspark` without Spark.

    Credentials are those of a connection, and nowhere else.
    """
    store = cluster.bucket.store
    extra = {"endpoint_url": store.endpoint, "region_name": "us-east-1"}
    login = {"login": store.environment["AWS_ACCESS_KEY_ID"], "password": store.environment["AWS_SECRET_ACCESS_KEY"]}
    return {
        "PATH": f"{AIRFLOW}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "AWS_EC2_METADATA_DISABLED": "true",
        "PULSAR_BACKLOG_JARS": os.environ.get("PULSAR_BACKLOG_JARS", ""),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW_CONN_PULSAR_BACKLOG_STORE": json.dumps({"conn_type": "aws", "extra": extra, **login}),
    }  # fmt: skip


@pytest.fixture(scope="module")
def said(home: Path, cluster: Cluster, source_bucket: str) -> str:
    """What Airflow says of a run of the audit's DAG, after the commands of docs/cluster.md as they stand there."""
    text = BLOCK
    for name, value in {
        "spark://master:7077": cluster.master, "s3://pulsar-offload": source_bucket,
        "s3a://audits/eu-1": f"s3a://{BUCKET}/{PREFIX}", "/saved/admin": str(ADMIN),
    }.items():  # fmt: skip
        assert name in text
        text = text.replace(name, value)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=home, env=environment(home, cluster), capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout + done.stderr


def test_the_tables_are_those_of_one_machine(said: str, bucket: Bucket, local_audit: Path) -> None:
    assert differing(bucket, PREFIX, local_audit) == {}


def test_the_report_lies_beside_them(said: str, bucket: Bucket, local_audit: Path) -> None:
    result = json.loads(bucket.body(f"{PREFIX}/result.json"))
    assert result["counts"] == json.loads((local_audit / "result.json").read_text())["counts"]
    assert {"report.html", "repairs.html", "data_docs/index.html"} <= bucket.keys(PREFIX)


def test_the_log_says_where_the_report_is_and_no_secret(said: str, bucket: Bucket) -> None:
    assert f"lie in s3a://{BUCKET}/{PREFIX}" in said
    assert bucket.store.environment["AWS_SECRET_ACCESS_KEY"] + " " not in said


def test_the_work_is_bounded(said: str, cluster: Cluster) -> None:
    jobs = [entry.job for entry in load_pipelines().get("audit").jobs]
    assert all(f"pulsar-backlog-audit-{job}" in said for job in jobs)
    on_spark = [job for job in jobs if job != "notify_changes"]  # with nobody to tell it starts no session
    assert {job: work for job in on_spark if not (work := cluster.work(job)).within(MOST)} == {}
