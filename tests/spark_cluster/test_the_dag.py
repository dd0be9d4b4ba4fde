"""The DAG run by Airflow itself, whose operator sends all jobs to the cluster: tables as of one machine.

No job asks Spark for more work than it needs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pulsar_backlog.config import load_pipelines
from tests.auditing import ADMIN
from tests.spark_cluster.cluster import EXECUTOR_MEMORY, Cluster, Work
from tests.spark_cluster.running import BUCKET, LIMIT_SECONDS, ROOT, Bucket, differing

AIRFLOW = ROOT / ".venv-airflow" / "bin" / "python"
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
    text = (ROOT / "pipelines.yaml").read_text().replace("  cluster: default ", "  cluster: eu-1 ", 1)
    memory = {"spark.executor.memory": EXECUTOR_MEMORY, "spark.driver.memory": EXECUTOR_MEMORY}
    options = {f"spark.{who}.extraJavaOptions": cluster.java_options for who in ("driver", "executor")}
    recorded = dict(setting.split("=", 1) for setting in cluster.recorded)
    settings = f"    spark: {json.dumps(memory | options | recorded)}\n"
    (made / "pipelines.yaml").write_text(text.replace('    schedule: "0 3 * * *"\n', settings, 1))
    return made


def airflow(home: Path, cluster: Cluster, source: str, *argv: str) -> subprocess.CompletedProcess[str]:
    """Airflow with connections and variables as docs/cluster.md says; no credentials in its environment."""
    store = cluster.bucket.store
    extra = {"endpoint_url": store.endpoint, "region_name": "us-east-1"}
    login = {"login": store.environment["AWS_ACCESS_KEY_ID"], "password": store.environment["AWS_SECRET_ACCESS_KEY"]}
    variables = {
        "source": source, "out": f"s3a://{BUCKET}/{PREFIX}", "admin": str(ADMIN), "jars": cluster.jars,
        "py_files": str(cluster.folder / "pulsar_backlog.zip"), "python": sys.executable,
        "driver_python": sys.executable,
    }  # fmt: skip
    environment = {
        # Airflow's own environment first, as where it is activated: it has a `pyspark` without Spark.
        "PATH": f"{AIRFLOW.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home), "AIRFLOW_HOME": str(home / "airflow"), "PULSAR_BACKLOG_HOME": str(home),
        "PYTHONPATH": str(ROOT / "lib"), "SPARK_LOCAL_IP": "127.0.0.1", "AWS_EC2_METADATA_DISABLED": "true",
        "PULSAR_BACKLOG_JARS": os.environ.get("PULSAR_BACKLOG_JARS", ""),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "AIRFLOW__CORE__DAGS_FOLDER": str(home / "conf" / "airflow"),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": cluster.master}),
        "AIRFLOW_CONN_PULSAR_BACKLOG_STORE": json.dumps({"conn_type": "aws", "extra": extra, **login}),
        **{f"AIRFLOW_VAR_PULSAR_BACKLOG_{name.upper()}": value for name, value in variables.items()},
    }  # fmt: skip
    return subprocess.run(
        [str(AIRFLOW), "-m", "airflow", *argv],
        env=environment, cwd=home, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def said(home: Path, cluster: Cluster, source_bucket: str) -> str:
    """What Airflow says of a run of the audit's DAG."""
    made = airflow(home, cluster, source_bucket, "db", "migrate")
    assert made.returncode == 0, made.stderr[-2000:]
    done = airflow(home, cluster, source_bucket, "dags", "test", "pulsar_backlog_audit")
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
    assert {job: work for job in jobs if not (work := cluster.work(job)).within(MOST)} == {}
