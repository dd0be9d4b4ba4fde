"""An audit whose tables, report, pages, plans and exports lie in a bucket: like one in a folder, to every command."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from pulsar_backlog.repair.planning.folder import HELD_BACK_NAME
from pulsar_backlog.repair.values import read_plan
from pulsar_backlog.terms import LOCK_NAME
from tests.auditing import OBJECTS
from tests.spark_cluster.running import AUDIT, BUCKET, Bucket, command, differing, run

PREFIX = "one-machine/eu 1"
WHEN = re.compile(r"\d{8}T[\d.]+Z")
"""A part of the names of Data Docs."""
NAMED = ("--cluster", "eu-1")
OUT = f"s3a://{BUCKET}/{PREFIX}"


@pytest.fixture(scope="module")
def audited(bucket: Bucket, source_bucket: str) -> Bucket:
    """The bucket with an audit in it."""
    done = command(bucket, "audit", source_bucket, *AUDIT, "--out", OUT)
    assert done.returncode == 0, done.stderr
    return bucket


def test_its_tables_are_those_of_a_folder(audited: Bucket, local_audit: Path) -> None:
    assert differing(audited, PREFIX, local_audit) == {}


def test_its_pages_lie_beside_them(audited: Bucket, local_audit: Path) -> None:
    keys = {key for key in audited.keys(PREFIX) if not key.startswith("tables/")}
    files = {path.relative_to(local_audit).as_posix() for path in local_audit.rglob("*") if path.is_file()}
    here = {name for name in files if name.partition("/")[0] not in ("tables", LOCK_NAME)}
    assert {WHEN.sub("", key) for key in keys} == {WHEN.sub("", name) for name in here}
    result = json.loads(audited.body(f"{PREFIX}/result.json"))
    local = json.loads((local_audit / "result.json").read_text())
    assert result["counts"] == local["counts"]
    assert audited.body(f"{PREFIX}/report.html").startswith(b"<!")


def test_a_second_audit_finds_nothing_new(audited: Bucket, source_bucket: str) -> None:
    before = {key: audited.body(f"{PREFIX}/{key}") for key in ("report.html", "result.json")}
    done = command(audited, "audit", source_bucket, *AUDIT, "--out", OUT)
    assert done.returncode == 99, done.stderr
    assert before == {key: audited.body(f"{PREFIX}/{key}") for key in before}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT topic, entries, not_whole FROM topic_overview ORDER BY topic",
        "SELECT count(*) AS jobs FROM runs WHERE job = 'scan_entries'",  # of a table without statistics
        "SELECT count(*) AS entries FROM entries WHERE uuid IS NULL",  # of files that hold nothing else, too
    ],
)
def test_it_is_asked_like_a_folder(audited: Bucket, local_audit: Path, query: str) -> None:
    here, there = command(audited, "sql", local_audit, query), command(audited, "sql", OUT, query)
    assert (there.returncode, there.stdout) == (0, here.stdout), there.stderr
    spark = command(audited, "sql", OUT, query, "--engine", "spark")
    assert (spark.returncode, spark.stdout) == (0, here.stdout), spark.stderr


def test_it_is_looked_up_like_a_folder(audited: Bucket, local_audit: Path) -> None:
    located = [command(audited, "locate", out, "--id", "24:0") for out in (local_audit, OUT)]
    assert located[1].returncode == 0, located[1].stderr
    assert located[0].stdout == located[1].stdout


def test_exports_and_plans_lie_in_it(audited: Bucket, source_bucket: str, tmp_path: Path) -> None:
    export = command(audited, "export", OUT, *NAMED, "--format", "delta", "--inline-limit-bytes", "0")
    assert export.returncode in (0, 1), export.stderr
    payloads = {key for key in audited.keys(PREFIX) if key.startswith("payloads/")}
    assert payloads
    planned = command(audited, "repair", "plan", OUT, *NAMED, "--accept-unsure", "cannot_tell")
    assert planned.returncode == 0, planned.stderr
    (plan_key,) = {key for key in audited.keys(PREFIX) if key.endswith("/plan.jsonl")}
    name = plan_key.removesuffix("/plan.jsonl")
    folder = audited.download(f"{PREFIX}/{name}", tmp_path / "plan")
    assert read_plan(folder).actions
    assert (folder / HELD_BACK_NAME).is_file()
    assert name.partition("/")[2].encode() in audited.body(f"{PREFIX}/repairs.html")
    again = command(audited, "repair", "plan", OUT, *NAMED, "--accept-unsure", "cannot_tell")
    assert again.returncode == 0, again.stderr
    shown = command(audited, "repair", "show", f"{OUT}/{name}")
    assert shown.returncode == 0, shown.stderr
    assert read_plan(folder).plan_id in shown.stdout


def test_a_bucket_by_the_name_that_spark_does_not_know(bucket: Bucket, source_bucket: str) -> None:
    done = command(bucket, "audit", source_bucket, *AUDIT, "--out", f"s3://{BUCKET}/x")
    assert done.returncode == 2
    assert f"write s3a://{BUCKET}/x" in done.stderr
    assert len(done.stderr.splitlines()) < 4


def test_one_endpoint_is_enough(bucket: Bucket) -> None:
    """An audit that is only given `--endpoint` reaches its results, and so does each command that it prints."""
    environment = {name: value for name, value in bucket.environment.items() if name != "AWS_ENDPOINT_URL"}
    program = [sys.executable, "-m", "pulsar_backlog.cli"]
    place = ["--out", f"s3a://{BUCKET}/one-endpoint", "--endpoint", bucket.store.endpoint]
    done = run([*program, "audit", str(OBJECTS), *AUDIT, *place, "--json"], environment)
    assert done.returncode == 0, done.stderr
    result = json.loads(bucket.body("one-endpoint/result.json"))
    commands = [step["command"] for step in result["next"] if step.get("command")]
    assert commands
    for line in commands:
        name, *argv = shlex.split(line)
        assert name == "pulsar-backlog"
        assert bucket.store.endpoint in argv, line
        if argv[0] in ("sql", "locate", "inventory", "changes"):
            asked = run([*program, *argv], environment)
            assert asked.returncode in (0, 1), (line, asked.stderr)
    question = "SELECT count(*) AS jobs FROM runs WHERE job = 'scan_entries'"
    asked = run([*program, "sql", place[1], question, *place[2:]], environment)
    assert (asked.returncode, asked.stdout.split()) == (0, ["jobs", "1"]), asked.stderr


def test_its_tables_are_kept_small(audited: Bucket, local_audit: Path) -> None:
    before = differing(audited, PREFIX, local_audit)  # the exports and plans above have findings of their own
    dry = command(audited, "maintain", OUT, *NAMED)
    assert dry.returncode == 0, dry.stderr
    assert json.loads(dry.stdout)["dry_run"] is True
    done = command(audited, "maintain", OUT, *NAMED, "--yes")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert any(table["checkpoint"] for table in said["tables"])
    assert json.loads(audited.body(f"{PREFIX}/result.json"))["maintenance"]["tables"] == said["tables"]
    assert differing(audited, PREFIX, local_audit) == before
    assert command(audited, "maintain", OUT, *NAMED, "--yes").returncode == 99
