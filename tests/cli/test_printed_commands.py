"""Commands in reports, plans and errors run as they are printed, with the options of the run that printed them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.command_line import program
from pulsar_backlog.options import OPTIONS, given_options
from pulsar_backlog.options.printed import COMMAND_OPTIONS, Run, audit_options, options_of, record_of
from tests.auditing import OBJECTS, Audited, copy_ledgers, rows_of, run_one, version_of
from tests.cli.typed import commands_in_pages, typed

NEEDS_SPARK = True

_TOPIC = re.compile(r"'persistent://[^']*'")
_POSITION = re.compile(r" \d+:\d+$")
_SUBSCRIPTION = re.compile(r" --subscription \S+")
_GIVEN_UP = re.compile(r"(?: --give-up \d+:\d+)+")


def fresh(bundled: Audited, folder: Path) -> Path:
    """A copy of the audit with a report of its own: the commands in it name the copy."""
    out = folder / "eu 1"
    shutil.copytree(bundled.out, out)
    (out / "result.json").unlink()
    run_one("write_report", OBJECTS, out, cluster="demo")
    return out


@pytest.fixture(scope="module")
def out(bundled: Audited, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy that tests only read."""
    return fresh(bundled, tmp_path_factory.mktemp("printed"))


@pytest.fixture(scope="module")
def printed(out: Path) -> list[str]:
    """What report and result.json print for people to type."""
    steps = json.loads((out / "result.json").read_text())["next"]
    found = sorted(commands_in_pages(out) | {step["command"] for step in steps})
    assert len(found) > 50
    return [command for command in found if not command.startswith("pulsar-admin")]


def test_what_reads_answers(printed: list[str]) -> None:
    """One of each shape: they differ in topic and position only."""
    shapes = {_POSITION.sub(" POSITION", _TOPIC.sub("TOPIC", command)): command for command in printed}
    reading = [one for one in shapes.values() if one.split()[1] in ("sql", "explain", "inventory", "locate")]
    assert {one.split()[1] for one in reading} >= {"sql", "explain", "inventory"}
    for command in reading:
        done = typed(command)
        assert (done.code, done.stderr) == (0, ""), command
        assert done.stdout, command


def test_exports_and_plans_name_what_is_there(printed: list[str], out: Path) -> None:
    known = {(row["topic"], row["subscription"]) for row in rows_of(out, "subscriptions", "topic", "subscription")}
    topics = {topic for topic, _ in known}
    chosen = [shlex.split(one) for one in printed if one.split()[1] in ("export", "repair")]
    assert chosen
    for words in chosen:
        given = {word: words[at] for at, word in enumerate(words, start=1) if word.startswith("--")}
        assert given["--topic"] in topics
        assert "--subscription" not in given or (given["--topic"], given["--subscription"]) in known
    assert {one.split()[1] for one in printed} <= {"audit", "export", "explain", "inventory", "repair", "sql"}


def test_exports_and_plans_that_are_printed_are_made(bundled: Audited, tmp_path: Path) -> None:
    """Every export; and of the plans of a topic one of each shape: those differ in subscription and position only."""
    out = fresh(bundled, tmp_path)
    steps = json.loads((out / "result.json").read_text())["next"]
    found = sorted(commands_in_pages(out) | {step["command"] for step in steps})
    for name in ("export", "repair"):  # a plan rests on what was exported
        shapes = {
            _SUBSCRIPTION.sub("", _GIVEN_UP.sub(" --give-up", one)): one for one in found if one.split()[1] == name
        }
        assert len(shapes) > 10
        for command in shapes.values():
            done = typed(command)
            assert done.code in (0, 1), f"{command}: {done.stderr}"  # 1: what was exported has errors
            assert done.stdout, command


def test_an_audit_as_printed_is_the_audit_that_was(bundled: Audited, tmp_path: Path) -> None:
    out = fresh(bundled, tmp_path)
    (audit,) = {one for one in commands_in_pages(out) if one.startswith("pulsar-backlog audit ")}
    before = {table: version_of(out, table) for table in ("subscriptions", "stalls", "findings", "entries")}
    done = typed(audit)
    assert done.code == 1, done.stderr
    assert json.loads(done.stdout)["unchanged"]
    assert {table: version_of(out, table) for table in before} == before


def test_from_a_report_to_a_plan(bundled: Audited, tmp_path: Path) -> None:
    out = fresh(bundled, tmp_path)
    steps = [step for step in json.loads((out / "result.json").read_text())["next"] if step["subscription"]]
    exported, planned = [step["command"] for step in steps if step["command"].split()[1] in ("export", "repair")][:2]
    assert typed(exported).code == 0
    plan = typed(planned)
    assert plan.code == 0, plan.stderr
    folder = json.loads(plan.stdout.splitlines()[0])["folder"]
    for command in (f"pulsar-backlog repair show {shlex.quote(folder)}{more}" for more in ("", " --action 0")):
        assert typed(command).code == 0, command


def test_the_only_cluster_is_taken_and_of_several_one_is_to_be_named(bundled: Audited, tmp_path: Path) -> None:
    out = fresh(bundled, tmp_path)
    word = shlex.quote(str(out))
    topic = "--topic persistent://lab/s3/brk-many-pending"
    commands = [f"inventory {word}", f"export {word} {topic}", f"repair plan {word} {topic}"]
    for command in commands:
        assert typed(f"pulsar-backlog {command}").code == 0, command
    run_one("inventory_ledgers", copy_ledgers(tmp_path / "one", [4]), out, cluster="us-2")
    for command in commands:
        done = typed(f"pulsar-backlog {command}")
        assert done.code == 2, command
        assert "several clusters: name one with --cluster (demo, us-2)" in done.stderr, command
        assert typed(f"pulsar-backlog {command} --cluster demo").code == 0, command
        other = typed(f"pulsar-backlog {command} --cluster eu-9")
        assert other.code == 2 and "--cluster (demo, us-2)" in other.stderr, command


def test_every_command_has_the_options_that_are_printed_for_it() -> None:
    for name, options in COMMAND_OPTIONS.items():
        command: Any = program()
        for word in name.split():
            command = command.commands[word]
        flags = {flag for param in command.params for flag in param.opts}
        assert {OPTIONS[option].flag for option in options} <= flags, name


GIVEN: dict[str, Any] = {
    "admin": "/saved json", "topic": ["a/*", "b's"], "cluster": "eu-1", "endpoint": "http://minio:9000",
    "sample": "10%", "model": ["java", "python:live"], "fail_on": "never", "token_without_tls": True,
    "token_file": "/secret/token", "ledger": "5-9",
}  # fmt: skip


def test_an_audit_that_is_printed_has_all_options_of_its_run() -> None:
    record = record_of(given_options({**GIVEN, "source": "s3://b", "out": "/o"}), ("source", "out"))
    run = Run("s3://b", "/o", options_of(audit_options([{"job": "scan_entries", "options": record}])))
    words = shlex.split(run.command("audit"))
    assert words[:5] == ["pulsar-backlog", "audit", "s3://b", "--out", "/o"]
    given = [" ".join(pair) for pair in pairwise(words)]
    for pair in (
        "--admin /saved json", "--topic a/*", "--topic b's", "--cluster eu-1", "--endpoint http://minio:9000",
        "--sample 10%", "--model java", "--model python:live", "--fail-on never", "--token-file /secret/token",
        "--ledger 5-9",
    ):  # fmt: skip
        assert pair in given
    assert "--token-without-tls" in words


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("sql", "pulsar-backlog sql /o"),  # reads the folder; the endpoint is that of the source
        ("repair plan", "pulsar-backlog repair plan /o --cluster eu-1"),
        ("explain", "pulsar-backlog explain s3://b --endpoint http://minio:9000 --admin '/saved json' "
                    "--token-file /secret/token --token-without-tls"),
        ("export", "pulsar-backlog export /o --cluster eu-1 --endpoint http://minio:9000 --token-file /secret/token "
                   "--token-without-tls"),
        ("rebuild-topic", "pulsar-backlog rebuild-topic s3://b --admin '/saved json' --endpoint http://minio:9000"),
    ],
)  # fmt: skip
def test_other_commands_reach_what_the_run_reached(command: str, line: str) -> None:
    assert Run("s3://b", "/o", GIVEN).command(command) == line


def test_an_option_is_what_the_newest_job_that_takes_it_was_given() -> None:
    runs = [
        {"job": "inventory_ledgers", "options": {"topic": "('a',)", "admin": "/old"}},
        {"job": "analyze_subscriptions", "options": {"admin": "/old", "max_ack_ranges": "7"}},
        {"job": "export_messages", "options": {"topic": "('only exported',)"}},
        {"job": "inventory_ledgers", "options": {}},  # a second audit, of everything and without saved state
    ]
    assert options_of(audit_options(runs)) == {"max_ack_ranges": "7"}


def test_a_live_audit_asks_its_brokers_anew() -> None:
    taken = {"admin": "/o/live/begin", "admin_url": "http://broker:8080"}
    live = Run("pulsar://broker:6650", "/o", taken)
    assert live.command("audit") == "pulsar-backlog audit pulsar://broker:6650 --out /o --admin-url http://broker:8080"
    assert "--admin /o/live/begin" in live.command("explain")
    assert "--admin /mine" in Run("pulsar://broker:6650", "/o", {**taken, "admin": "/mine"}).command("audit")


def test_an_estimate_advises_no_option_that_it_lacks() -> None:
    done = typed("pulsar-backlog estimate pulsar://127.0.0.1:6650")
    assert done.code == 2
    assert "audit them, with --budget-bytes" in " ".join(done.stderr.split())
