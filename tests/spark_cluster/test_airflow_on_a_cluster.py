"""The DAG run by Airflow itself, whose operator sends all jobs to the cluster: tables as of one machine."""

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
from tests.spark_cluster.cluster import EXECUTOR_MEMORY, SHORT_LIVED, Cluster
from tests.spark_cluster.running import BUCKET, ROOT, differing

AIRFLOW = ROOT / ".venv-airflow" / "bin" / "python"
PREFIX = "airflow"
_TIMEOUT_SECONDS = 1800


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home of our own, whose pipelines name the cluster of the local audit and ask for small executors."""
    made = tmp_path / "house"
    for name in ("jobs", "conf"):
        shutil.copytree(ROOT / name, made / name)
    text = (ROOT / "pipelines.yaml").read_text().replace("  cluster: default ", "  cluster: eu-1 ", 1)
    memory = {"spark.executor.memory": EXECUTOR_MEMORY, "spark.driver.memory": EXECUTOR_MEMORY}
    options = {f"spark.{who}.extraJavaOptions": SHORT_LIVED for who in ("driver", "executor")}
    settings = f"    spark: {json.dumps(memory | options)}\n"
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
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
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
        env=environment, cwd=home, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False,
    )  # fmt: skip


def test_all_jobs_of_the_dag(home: Path, cluster: Cluster, source_bucket: str, local_audit: Path) -> None:
    made = airflow(home, cluster, source_bucket, "db", "migrate")
    assert made.returncode == 0, made.stderr[-2000:]
    done = airflow(home, cluster, source_bucket, "dags", "test", "pulsar_backlog_audit")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-4000:]
    assert differing(cluster.bucket, PREFIX, local_audit) == {}
    assert "report.html" in cluster.bucket.keys(PREFIX)
    for entry in load_pipelines().get("audit").jobs:
        assert f"pulsar-backlog-audit-{entry.job}" in said
    assert f"lie in s3a://{BUCKET}/{PREFIX}" in said
    assert cluster.bucket.store.environment["AWS_SECRET_ACCESS_KEY"] + " " not in said
