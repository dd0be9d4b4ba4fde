"""The jobs' command lines: what is taken, what is refused and in which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulsar_backlog.arguments import absolute, job_parser, parse_options, source_of
from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.buckets.access import DEFAULT_ACCESS, Access
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.options import JOB_OPTIONS, OPTIONS, Options
from pulsar_backlog.runs.runs import fingerprint

PLACES = ["--source", "/s", "--out", "/o"]


def parse(*argv: str, job: str = "assemble_chunks") -> Options:
    return parse_options(job_parser(job, "words"), argv)


def test_every_option_is_one_of_a_job() -> None:
    assert {name for names in JOB_OPTIONS.values() for name in names} == set(OPTIONS)


@pytest.mark.parametrize("job", JOB_OPTIONS)
def test_the_help_of_a_job_names_its_options(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse("--help", job=job)
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert all(f"--{name.replace('_', '-')}" in said for name in JOB_OPTIONS[job])


def test_defaults() -> None:
    assert parse(*PLACES).model_dump(exclude_none=True) == {
        "source": "/s", "out": "/o", "cluster": "default", "fail_on": "error", "grace_seconds": 120,
        "exit_zero_when_unchanged": False, "token_without_tls": False,
    }  # fmt: skip


def test_everything_given() -> None:
    options = parse(
        *PLACES, "--endpoint", "http://127.0.0.1:9", "--admin", "/a", "--topic", "x", "--topic", "y", "--ledger", "3",
        "--ledger", "5-9", "--since", "2026-01-01", "--until", "2026-01-02", "--cluster", "c", "--fail-on", "never",
        "--exit-zero-when-unchanged", "--grace-seconds", "0",
    )  # fmt: skip
    assert options.model_dump(exclude_none=True) == {
        "source": "/s", "out": "/o", "endpoint": "http://127.0.0.1:9", "admin": "/a", "topic": ("x", "y"),
        "ledger": ("3", "5-9"), "since": "2026-01-01", "until": "2026-01-02", "cluster": "c", "fail_on": "never",
        "exit_zero_when_unchanged": True, "grace_seconds": 0, "token_without_tls": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--ledger", "x"), "--ledger: 'x' is not a ledger id"),
        (("--ledger", "9-3"), "--ledger: '9-3'"),
        (("--fail-on", "info"), "--fail-on"),
        (("--grace-seconds", "-1"), "--grace-seconds"),
        (("--since", "soon"), "--since: 'soon'"),
        (("--cluster", ""), "--cluster"),
        (("--endpoint", "http://me:word@host"), "--endpoint: must not hold credentials"),
        (("--since", "2026-01-02", "--until", "2026-01-01"), "--since 2026-01-02 is not before --until 2026-01-01"),
        (("--since", "2026-01-01", "--until", "2026-01-01"), "is not before"),
        (("--admin", "a\nb"), "--admin"),
    ],
)
def test_a_wrong_value_names_its_option(argv: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(*PLACES, *argv)
    assert words in str(caught.value)
    assert "word@" not in str(caught.value)


@pytest.mark.parametrize(
    ("place", "made"),
    [
        (None, None),
        ("s3://bucket/prefix", "s3://bucket/prefix"),
        ("/a/../b", "/b"),
        ("rel", str(Path.cwd() / "rel")),
        ("~/x", str(Path.home() / "x")),
    ],
)
def test_places_are_absolute(place: str | None, made: str | None) -> None:
    assert absolute("source", place) == made


def test_a_container_is_no_user_name() -> None:
    source = "abfss://box@account.dfs.core.windows.net/pre"
    assert parse("--source", source, "--out", "/o").source == source
    with pytest.raises(UsageError, match="must not hold credentials"):
        parse("--source", "abfss://box:word@account.dfs.core.windows.net", "--out", "/o")
    with pytest.raises(UsageError, match="must not hold credentials"):
        parse("--source", "s3://key@bucket", "--out", "/o")


def test_how_a_bucket_is_asked() -> None:
    given = ("--store-attempts", "3", "--store-timeout-seconds", "9", "--store-range-bytes", "65536")
    source = source_of(parse("--source", "s3://bucket", "--out", "/o", *given, "--store-concurrency", "2"))
    assert source == Source("s3://bucket", None, Access(3, 9, 65536, 2))
    assert source_of(parse("--source", "s3://bucket", "--out", "/o")).access == DEFAULT_ACCESS
    for name in ("attempts", "timeout-seconds", "range-bytes", "concurrency"):
        with pytest.raises(UsageError, match=f"--store-{name}"):
            parse(*PLACES, f"--store-{name}", "0")


def test_how_a_bucket_is_asked_changes_no_result() -> None:
    assert fingerprint(parse(*PLACES, "--store-attempts", "3"), {}) == fingerprint(parse(*PLACES), {})
