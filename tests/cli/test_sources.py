"""The bundled backlog through S3: the same entries as from the folder, with credentials from where AWS keeps them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.auditing import EXPECTED, OBJECTS, Audited, copy_ledgers, run_audit
from tests.ledgers.conftest import S3Server, aws, s3_server

NEEDS_SPARK = True

__all__ = ["aws", "s3_server"]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bucket(s3_server: S3Server) -> S3Server:
    """A server whose bucket `backlog` holds the bundled objects as the broker's offloader put them there."""
    known = json.loads((EXPECTED / "objects.json").read_text())
    objects = {f"pre/{path.name}": (path.read_bytes(), known[path.name]["metadata"]) for path in OBJECTS.iterdir()}
    s3_server.fill("backlog", objects)
    return s3_server


SCAN = """
import sys
from pulsar_backlog.spark.choice import choose
from tests.auditing import *
choose(SESSION)
print(run_scan(sys.argv[1], Path(sys.argv[2]), **eval(sys.argv[3])).exit_code)
"""


def scan_in_a_session_of_its_own(source: str, out: Path, **options: Any) -> Audited:
    """Inventory and scan in a new process: Spark's workers have the credentials of the moment their JVM started."""
    path = os.pathsep.join([str(ROOT / "lib"), str(ROOT)])
    command = [sys.executable, "-c", SCAN, source, str(out), repr(options)]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True)
    return Audited(int(done.stdout.split()[-1]), done.stdout, done.stderr, out, source)


def without_place(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in ("uri", "cluster")} for row in rows]


def test_a_bucket_gives_the_same_entries_as_the_folder(
    bucket: S3Server, bundled: Audited, aws: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    audited = scan_in_a_session_of_its_own("s3://backlog/pre", tmp_path / "out", endpoint=bucket.endpoint)
    assert audited.exit_code == 0, audited.stderr
    assert without_place(audited.rows("entries")) == without_place(bundled.rows("entries"))
    assert {row["uri"] for row in audited.rows("entries", "uri")} == {
        row["uri"] for row in bundled.rows("entries", "uri")
    }


def test_credentials_from_a_profile_file(
    spark: SparkSession, bucket: S3Server, aws: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "credentials").write_text("[night]\naws_access_key_id = key\naws_secret_access_key = qzx-secret\n")
    (tmp_path / "config").write_text("[profile night]\nregion = us-east-1\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        aws.delenv(name)
    aws.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    aws.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    aws.setenv("AWS_PROFILE", "night")
    out = tmp_path / "out"
    audited = scan_in_a_session_of_its_own("s3://backlog/pre", out, endpoint=bucket.endpoint, ledger=["22"])
    assert audited.exit_code == 0, audited.stderr
    assert len(audited.rows("entries")) == 7
    written = [path for path in out.rglob("*") if path.is_file()]
    assert written
    assert not [path for path in written if b"qzx-secret" in path.read_bytes()]


def test_a_bucket_that_is_not_there(
    spark: SparkSession, bucket: S3Server, aws: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    audited = run_audit("s3://no-such-bucket", tmp_path / "out", endpoint=bucket.endpoint)
    assert audited.exit_code in (2, 4)
    assert "no-such-bucket" in audited.stderr + json.dumps(audited.codes() if audited.exit_code == 4 else {})


def test_an_unreadable_part_of_a_folder_is_exit_4_and_the_rest_is_audited(spark: SparkSession, tmp_path: Path) -> None:
    source = copy_ledgers(tmp_path / "objects", [292])
    locked = tmp_path / "objects" / "locked"
    copy_ledgers(locked, [22])
    locked.chmod(0)
    if os.access(locked, os.R_OK):
        locked.chmod(0o700)
        pytest.skip("this user may read everything")
    try:
        audited = run_audit(source, tmp_path / "out")
    finally:
        locked.chmod(0o700)
    assert audited.exit_code == 4
    assert len(audited.rows("entries")) == 11
