"""docs/cluster.md as it is written: its commands in a shell that knows nothing else, on a real cluster."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pulsar_backlog import __version__
from tests.spark_cluster.cluster import Cluster
from tests.spark_cluster.running import BUCKET, LIMIT_SECONDS, ROOT, Bucket, filled, make_programs

BLOCKS = re.findall(r"^```\n(.*?)^```$", (ROOT / "docs" / "cluster.md").read_text(), re.MULTILINE | re.DOTALL)
SUBMITS = [block for block in BLOCKS if "spark-submit" in block]
PREFIX = "eu-1"
"""What the page calls its results."""


@pytest.fixture(scope="module")
def checkout(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This repository after `make setup` and `make dist`: other lanes of CI use its own `dist/`."""
    here = tmp_path_factory.mktemp("checkout")
    for name in ("conf", "jobs", "lib", "pipelines.yaml"):
        (here / name).symlink_to(ROOT / name)
    make_programs(here)
    (here / "dist").mkdir()
    shutil.copy(cluster.folder / "pulsar_backlog.zip", here / "dist" / f"pulsar_backlog-{__version__}.zip")
    return here


def typed(script: str, checkout: Path, cluster: Cluster) -> subprocess.CompletedProcess[str]:
    """A script in a shell that knows credentials and their service, as the page says, and nothing else."""
    text = script.replace("make dist\n", "").replace("spark://master:7077", cluster.master)
    known = cluster.bucket.environment | {
        "PATH": os.environ["PATH"].replace(f"{Path(sys.executable).parent}{os.pathsep}", ""),
        "HOME": os.environ["HOME"], "SPARK_LOCAL_IP": "127.0.0.1", "AWS_EC2_METADATA_DISABLED": "true",
    } | {name: os.environ[name] for name in ("JAVA_HOME", "PULSAR_BACKLOG_JARS") if name in os.environ}  # fmt: skip
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=checkout, env=known, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def offloaded(source: Path, bucket: Bucket) -> str:
    """The bucket that the page names."""
    return filled(bucket, "pulsar-offload", source)


def test_a_job_and_then_all_of_them(checkout: Path, cluster: Cluster, offloaded: str, bucket: Bucket) -> None:
    job, application = SUBMITS
    done = typed(job, checkout, cluster)
    assert done.returncode == 0, done.stderr[-3000:]
    said = done.stdout + done.stderr
    assert "Traceback" not in said and "at org.apache" not in said
    assert bucket.table(PREFIX, "ledgers").to_pyarrow_table().num_rows > 0
    path = next(line for line in job.splitlines() if line.startswith("export PATH"))
    done = typed(f"{path}\n{application}", checkout, cluster)
    assert done.returncode == 1, done.stderr[-3000:]  # findings
    assert json.loads(bucket.body(f"{PREFIX}/result.json"))["counts"]["ledgers"] > 0
    assert {"report.html", "data_docs/index.html"} <= bucket.keys(PREFIX)


@pytest.mark.parametrize(
    ("jars", "out", "words"),
    [
        ('""', "out", 'DeltaSparkSessionExtension: give it --jars "$(pulsar-backlog jars)"'),
        ('"$(pulsar-backlog jars)"', f"s3a://{BUCKET}/none", 'S3AFileSystem: give it --jars "$(pulsar-backlog jars s3'),
    ],
    ids=["none", "without those of s3a"],
)  # fmt: skip
def test_jars_that_are_missing_are_one_sentence(
    jars: str, out: str, words: str, checkout: Path, cluster: Cluster, offloaded: str
) -> None:
    script = SUBMITS[0].replace('"$(pulsar-backlog jars s3a)"', jars).replace("s3a://audits/eu-1", out)
    done = typed(script, checkout, cluster)
    assert done.returncode == 2, done.stderr[-3000:]
    said = done.stdout + done.stderr  # spark-submit gives what Python says on either
    assert words in said
    assert "Traceback" not in said and "at org.apache" not in said
