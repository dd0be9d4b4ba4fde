"""pipelines.yaml: what is refused and in which words, how layers win, what a command line becomes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from pulsar_backlog.arguments import complete_options, job_parser, parse_options
from pulsar_backlog.config import home, job_argv, layered_options, load_pipelines
from pulsar_backlog.errors import UsageError
from pulsar_backlog.options import JOB_OPTIONS, given_options

ROOT = Path(__file__).parents[2]
SHORTEST = "pipelines: {p: {description: d, jobs: [{job: scan_entries}]}}"


def load(folder: Path, text: str):
    path = folder / "pipelines.yaml"
    path.write_text(text)
    return load_pipelines(path)


def argv_of(folder: Path, text: str, job: str = "scan_entries", **given: object) -> list[str]:
    return job_argv(load(folder, text).get("p"), job, {"source": "s", "out": "o", **given})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the document: Input should be a valid dictionary"),
        ("[1]", "the document: Input should be a valid dictionary"),
        ("pipelines: {p: {description: d, jobs: [}}", "not valid YAML"),
        ("pipelines: {}\npipelines: {}", "repeated key 'pipelines'"),
        ("pipeline: {}", "pipeline: unknown key"),
        ("pipelines: {p: {description: d, jobs: []}}", "pipelines.p.jobs: "),
        ("pipelines: {p: {jobs: [{job: scan_entries}]}}", "pipelines.p.description: missing"),
        ("pipelines: {p: {description: d, jobs: [{job: scan}]}}", "pipelines.p.jobs: must be some of these"),
        (
            "pipelines: {p: {description: d, jobs: [{job: scan_entries}, {job: inventory_ledgers}]}}",
            "in this order: inventory_ledgers, scan_entries",
        ),
        (
            "pipelines: {p: {description: d, jobs: [{job: scan_entries, options: {ledgers: 3}}]}}",
            "pipelines.p.jobs.0.options.ledgers: unknown key",
        ),
        (f"defaults: {{fail_on: nothing}}\n{SHORTEST}", "defaults.fail_on: "),
        (f"defaults: {{grace_seconds: -1}}\n{SHORTEST}", "defaults.grace_seconds: "),
        (f"defaults: {{ledger: 9-3}}\n{SHORTEST}", "'9-3' is not a ledger id or a range"),
        (f"defaults: {{until: tomorrow}}\n{SHORTEST}", "'tomorrow' is not an ISO 8601 time"),
        (f"defaults: {{source: 's3://me:secret@bucket'}}\n{SHORTEST}", "must not hold credentials"),
        (
            "pipelines: {p: {description: d, jobs: [{job: scan_entries}], spark: {x.secret.key: y}}}",
            "x.secret.key is a secret",
        ),
    ],
)
def test_a_mistake_names_file_and_key(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'pipelines.yaml'}: ")
    assert words in str(caught.value)


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.yaml: No such file"):
        load_pipelines(tmp_path / "nowhere.yaml")


def test_an_unknown_pipeline_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is: p"):
        load(tmp_path, SHORTEST).get("q")


def test_later_layers_win(tmp_path: Path) -> None:
    text = """
defaults: {cluster: of-defaults, fail_on: warning, grace_seconds: 1}
pipelines:
  p:
    description: d
    options: {cluster: of-pipeline, grace_seconds: 2}
    jobs:
      - {job: assemble_chunks, options: {grace_seconds: 3}}
"""
    by_file = argv_of(tmp_path, text, "assemble_chunks")
    assert by_file[by_file.index("--fail-on") + 1] == "warning"
    assert by_file[by_file.index("--cluster") + 1] == "of-pipeline"
    assert by_file[by_file.index("--grace-seconds") + 1] == "3"
    by_caller = argv_of(tmp_path, text, "assemble_chunks", grace_seconds=0)
    assert by_caller[by_caller.index("--grace-seconds") + 1] == "0"


def test_options_are_rendered_in_one_order(tmp_path: Path) -> None:
    argv = argv_of(
        tmp_path,
        "defaults: {since: 2026-11-01, ledger: 12}\n" + SHORTEST,
        until="2026-11-21T10:00:00Z",
        topic=("a*", "b c"),
        endpoint="http://localhost:1",
        exit_zero_when_unchanged=True,
    )
    assert argv == [
        *("--source", "s", "--endpoint", "http://localhost:1", "--topic", "a*", "--topic", "b c"),
        *("--ledger", "12", "--since", "2026-11-01", "--until", "2026-11-21T10:00:00Z"),
        *("--out", "o", "--exit-zero-when-unchanged"),
    ]


@pytest.mark.parametrize("job", ["check_quality", "write_report"])
def test_a_job_gets_only_what_it_takes(job: str) -> None:
    audit = load_pipelines().get("audit")
    argv = job_argv(audit, job, {"source": "s", "out": "o", "topic": "x", "fail_on": "never"})
    assert argv == ["--out", "o", "--cluster", "default", "--fail-on", "never"]


def test_a_false_switch_is_not_rendered(tmp_path: Path) -> None:
    assert "--exit-zero-when-unchanged" not in argv_of(tmp_path, SHORTEST, exit_zero_when_unchanged=False)


@pytest.mark.parametrize("missing", ["source", "out"])
def test_source_and_out_are_asked_for(missing: str) -> None:
    given = {"source": "s", "out": "o"}
    del given[missing]
    with pytest.raises(UsageError, match=f"scan_entries needs --{missing}"):
        job_argv(load_pipelines().get("audit"), "scan_entries", given)


def test_times_that_yaml_has_read_are_written_as_iso_again(tmp_path: Path) -> None:
    argv = argv_of(tmp_path, "defaults: {since: 2026-11-21T10:00:00Z}\n" + SHORTEST)
    assert argv[argv.index("--since") + 1] == "2026-11-21T10:00:00+00:00"


def test_a_job_outside_the_pipeline_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no job 'write_report'; it has scan_entries"):
        argv_of(tmp_path, SHORTEST, "write_report")


@pytest.mark.parametrize(
    ("since", "until", "refused"),
    [
        ("2026-11-21T10:00:00Z", "2026-11-21T10:00:01Z", False),
        # an hour earlier than the text looks
        ("2026-11-21T12:00:00+02:00", "2026-11-21T10:00:01", False),
        # half-open: nothing lies between an instant and itself
        ("2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z", True),
        # the same instant in two zones; the later text is not the later time
        ("2026-11-21T12:00:00+02:00", "2026-11-21T10:00:00", True),
    ],
)
def test_times_must_enclose_something(tmp_path: Path, since: str, until: str, refused: bool) -> None:
    if refused:
        with pytest.raises(UsageError, match="is not before --until"):
            argv_of(tmp_path, SHORTEST, since=since, until=until)
    else:
        assert argv_of(tmp_path, SHORTEST, since=since, until=until)


def test_a_wrong_override_names_its_flag() -> None:
    with pytest.raises(UsageError, match=r"^--exit-zero-when-unchanged: "):
        given_options({"exit_zero_when_unchanged": "perhaps"})
    with pytest.raises(UsageError, match=r"^--ledger: 'x' is not a ledger id"):
        given_options({"ledger": ["3", "x"]})


def test_spark_settings_are_strings_as_spark_writes_them(tmp_path: Path) -> None:
    text = "pipelines: {p: {description: d, spark: {a: true, b: 2}, jobs: [{job: scan_entries}]}}"
    assert load(tmp_path, text).get("p").spark == {"a": "true", "b": "2"}


def test_the_bundled_file_runs_every_job() -> None:
    pipelines = load_pipelines().pipelines.values()
    listed = {job.job for pipeline in pipelines for job in pipeline.jobs}
    assert listed == set(JOB_OPTIONS)


def test_home_is_the_repository() -> None:
    assert home() == ROOT


def run_away_from_home(code_folder: Path, script: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(code_folder), **environment},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )


def test_home_is_found_from_code_that_lies_elsewhere(tmp_path: Path) -> None:
    """Executors and drivers may import the package from a zip, which holds no folder."""
    code = tmp_path / "code" / "pulsar_backlog"
    copytree(ROOT / "lib/pulsar_backlog", code, ignore=ignore_patterns("__pycache__"))
    house = tmp_path / "house"
    (house / "jobs").mkdir(parents=True)
    (house / "conf").mkdir()
    (house / "pipelines.yaml").write_text(SHORTEST)
    body = "from pulsar_backlog.config import home\nprint(home())\n"
    job, stray = house / "jobs" / "j.py", tmp_path / "stray.py"
    job.write_text(body)
    stray.write_text(body)

    assert run_away_from_home(code.parent, job).stdout.strip() == str(house)
    named = run_away_from_home(code.parent, stray, PULSAR_BACKLOG_HOME=str(house))
    assert named.stdout.strip() == str(house)
    lost = run_away_from_home(code.parent, stray)
    assert lost.returncode == 1
    assert "set PULSAR_BACKLOG_HOME to it" in lost.stderr


def test_a_value_that_looks_like_an_option_stays_a_value() -> None:
    pipeline = load_pipelines().get("export")
    argv = job_argv(pipeline, "export_messages", {"source": "/s", "out": "/o", "key": ["--out", "-x", "plain"]})
    assert [part for part in argv if "key" in part or part == "plain"] == ["--key=--out", "--key=-x", "--key", "plain"]
    assert parse_options(job_parser("export_messages", ""), argv).key == ("--out", "-x", "plain")


EVERY_KIND: list[dict[str, object]] = [
    {},
    {"cluster": "eu-1", "topic": ("a*", "b c"), "ledger": ("3-9",), "since": "2026-11-01", "fail_on": "never"},
    {"exit_zero_when_unchanged": True, "dry_run": False, "limit": 7, "sample": "10%", "store_attempts": 2},
    {"key": ["--out", "-x", "plain"], "endpoint": "http://localhost:1", "source": "s3://bucket/prefix", "out": "~/o"},
]


@pytest.mark.parametrize("given", EVERY_KIND, ids=["nothing", "texts", "switches and numbers", "places"])
def test_a_job_here_has_the_options_of_its_command_line(given: dict[str, object]) -> None:
    given = {"source": "s", "out": "o"} | given
    for pipeline in (load_pipelines().get(name) for name in load_pipelines().pipelines):
        for job in (entry.job for entry in pipeline.jobs):
            by_argv = parse_options(job_parser(job, ""), job_argv(pipeline, job, given))
            here = complete_options(job, layered_options(pipeline, job, given))
            assert here.model_dump() == by_argv.model_dump(), job
            assert parse_options(job_parser(job, ""), here) is here


def test_a_job_here_asks_for_what_it_needs() -> None:
    with pytest.raises(UsageError, match="scan_entries needs --out"):
        complete_options("scan_entries", given_options({"source": "s"}))
