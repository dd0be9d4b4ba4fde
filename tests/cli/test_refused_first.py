"""What a later job would refuse ends an audit before its first job; a bucket serves source and results alike."""

from __future__ import annotations

import os
import shlex
import socket
from pathlib import Path

import pytest

from pulsar_backlog.ledgers.buckets.addresses import forget_output_buckets, results_at
from pulsar_backlog.tableio.beside import beside
from tests.auditing import OBJECTS
from tests.cli.typed import typed
from tests.ledgers.conftest import S3Server, aws, s3_server

__all__ = ["aws", "s3_server"]  # fixtures that tests here ask for by name


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("audit {source} --out {out} --model ruby", "--model: ruby: 'ruby' is not a client: choose one of"),
        ("audit {source} --out {out} --model java:fast", "--model: java:fast: 'fast' is not a setting"),
        ("run repair_plan --source {source} --out {out} --private-keys {out}/none.pem", "--private-keys"),
        ("run repair_plan --source {source} --out {out} --as-stored --republish-to file", "--as-stored publishes"),
        ("run repair_plan --source {source} --out {out} --model ruby", "--model: ruby"),
    ],
)
def test_before_the_first_job(command: str, words: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = typed(f"pulsar-backlog {command.format(source=OBJECTS, out=shlex.quote(str(out)))}")
    assert done.code == 2, done.stderr
    assert words in done.stderr
    assert "[1/" not in done.stderr
    assert not out.exists()


@pytest.fixture
def nowhere(aws: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Credentials, and no word about a service."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        aws.delenv(name, raising=False)
    forget_output_buckets()
    return aws


def test_results_that_cannot_be_reached_are_one_sentence(nowhere: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}"
    nowhere.setenv("AWS_ENDPOINT_URL", dead)
    done = typed(f"pulsar-backlog audit {OBJECTS} --out s3a://results/a")
    assert done.code == 2
    assert "--out s3a://results/a: " in done.stderr
    assert "name its service with --endpoint or AWS_ENDPOINT_URL" in done.stderr
    assert "[1/" not in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_bucket_of_results_that_is_not_there(nowhere: pytest.MonkeyPatch, s3_server: S3Server) -> None:
    done = typed(f"pulsar-backlog audit {OBJECTS} --endpoint {s3_server.endpoint} --out s3a://never-made/a")
    assert done.code == 2
    assert "never-made" in done.stderr
    assert "[1/" not in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("source", ["s3://ledgers", "/a/folder", None])
def test_one_endpoint_serves_source_and_results(
    nowhere: pytest.MonkeyPatch, s3_server: S3Server, source: str | None
) -> None:
    name = f"shared-{abs(hash(source))}"
    s3_server.fill(name, {})
    with results_at(f"s3a://{name}/a", s3_server.endpoint, source):
        beside(f"s3a://{name}/a").write("report.html", "<p>")
    assert s3_server.client().get_object(Bucket=name, Key="a/report.html")["Body"].read() == b"<p>"
    assert "AWS_ENDPOINT_URL_S3" not in os.environ


@pytest.mark.parametrize(
    ("out", "source", "variable"),
    [
        ("s3a://results", "s3://ledgers", "AWS_ENDPOINT_URL"),  # who names a service of results means it
        ("s3a://results", "gs://ledgers", ""),  # another cloud's service
        ("/a/folder", "s3://ledgers", ""),
    ],
)
def test_another_service_stays_what_it_is(nowhere: pytest.MonkeyPatch, out: str, source: str, variable: str) -> None:
    if variable:
        nowhere.setenv(variable, "https://s3.amazonaws.com")
    with results_at(out, "http://127.0.0.1:9", source):
        assert "AWS_ENDPOINT_URL_S3" not in os.environ


def test_a_plan_in_a_bucket_is_shown_and_copied(
    nowhere: pytest.MonkeyPatch, s3_server: S3Server, tmp_path: Path
) -> None:
    from pulsar_backlog.repair.values import Plan, write_plan

    made = tmp_path / "made"
    made.mkdir()
    plan = Plan("demo", ())
    write_plan(made, plan, {})
    files = [path for path in made.iterdir() if path.is_file()]
    s3_server.fill("plans", {f"eu 1/plans/p/{path.name}": (path.read_bytes(), {}) for path in files})
    place = f"'s3a://plans/eu 1/plans/p' --endpoint {s3_server.endpoint}"
    shown = typed(f"pulsar-backlog repair show {place}")
    assert shown.code == 0, shown.stderr
    assert plan.plan_id in shown.stdout and "s3a://plans/eu 1/plans/p" in shown.stdout
    copied = typed(f"pulsar-backlog repair show {place} --to {tmp_path}/copy")
    assert copied.code == 0, copied.stderr
    assert {path.name for path in (tmp_path / "copy").iterdir()} == {path.name for path in files}
    assert typed(f"pulsar-backlog repair show {place} --to {tmp_path}/copy").code == 2  # nothing is overwritten
    refused = typed(
        "pulsar-backlog repair apply 's3a://plans/eu 1/plans/p' --admin-url http://b --service-url pulsar://b"
    )
    assert refused.code == 2
    assert "pulsar-backlog repair show 's3a://plans/eu 1/plans/p' --to p" in " ".join(refused.stderr.split())
