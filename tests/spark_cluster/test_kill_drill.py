"""The whole program as one application, killed at random moments: what it leaves in the bucket is as of one machine."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from tests.auditing import ADMIN
from tests.spark_cluster.cluster import Cluster
from tests.spark_cluster.running import BUCKET, ROOT, environment_of, run


def test_tables_after_kills_are_those_of_an_undisturbed_audit(
    cluster: Cluster, source_bucket: str, local_audit: Path
) -> None:
    drill = [sys.executable, str(ROOT / "scripts" / "kill_drill.py"), source_bucket, f"s3a://{BUCKET}/drill"]
    options = ["--admin", str(ADMIN), "--cluster", "eu-1", "--kills", "2", "--like", str(local_audit)]
    driver = ["env", "PYTHONPATH=", *cluster.program]  # what is not in the zip is not there
    path = {"PYTHONPATH": environment_of({})["PYTHONPATH"]}
    done = run([*drill, *options, "--program", shlex.join(driver)], cluster.environment | path)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert "kill 2: " in done.stdout
