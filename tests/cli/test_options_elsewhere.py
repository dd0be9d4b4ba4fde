"""Options from variables and files: which counts, what is never taken from there, and what a shell completes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.command_line import program
from pulsar_backlog.commands.variables import SHARED, variables
from pulsar_backlog.config import configured, job_argv, load_pipelines
from pulsar_backlog.options import JOB_OPTIONS
from tests.processes import fresh_python

OWN = {"PULSAR_BACKLOG_HOME", "PULSAR_BACKLOG_JARS", "PULSAR_BACKLOG_LOGS", "PULSAR_BACKLOG_TOKEN",
    "PULSAR_BACKLOG_LEDGER_PASSWORD",
    "PULSAR_BACKLOG_VERBOSE", "PULSAR_BACKLOG_RECORD_CLASSES"}  # fmt: skip
"""Variables that mean something else."""


TYPED = {"yes", "allow-consumers", "allow-no-deduplication", "allow-terminated", "token-without-tls", "accept-unsure",
    "give-up", "sole-owner", "show-values", "verbose"}  # fmt: skip
"""Options that no variable gives: what permits something dangerous, and what has a variable of its own kind."""


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in (group or program()).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def parsed(*argv: str) -> dict[str, Any]:
    """What a command makes of its command line and the variables."""
    root = program()
    context = root.make_context("pulsar-backlog", [], resilient_parsing=True)
    command = root.commands[argv[0]]
    return dict(command.make_context(argv[0], list(argv[1:]), parent=context).params)


def test_every_option_has_a_variable_or_is_always_typed() -> None:
    without = set()
    for path, command in commands():
        for option in (param for param in command.params if param.param_type_name == "option"):
            if not option.envvar:
                without.add(option.opts[0].removeprefix("--"))
            elif path == ("audit",):
                assert option.envvar[0] == f"PULSAR_BACKLOG_AUDIT_{option.opts[0][2:].replace('-', '_').upper()}"
    assert without == TYPED


def test_no_variable_means_two_things() -> None:
    named: dict[str, str] = {}
    for path, command in commands():
        for option in (param for param in command.params if param.param_type_name == "option"):
            for name in option.envvar or ():
                assert name not in OWN
                flag = option.opts[0]
                assert named.setdefault(name, flag) == flag, (name, path)
    assert all(f"PULSAR_BACKLOG_{name.replace('-', '_').upper()}" in named for name in SHARED)


@pytest.mark.parametrize("flag", sorted(TYPED))
def test_what_permits_something_dangerous_is_typed_each_time(flag: str) -> None:
    assert list(variables(("repair", "apply"), f"--{flag}")) == []


def test_the_command_line_wins_then_the_commands_own_variable_then_the_shared_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert parsed("audit", "s")["cluster"] is None
    monkeypatch.setenv("PULSAR_BACKLOG_CLUSTER", "shared")
    assert parsed("audit", "s")["cluster"] == "shared"
    monkeypatch.setenv("PULSAR_BACKLOG_AUDIT_CLUSTER", "own")
    assert parsed("audit", "s")["cluster"] == "own"
    assert parsed("export", "s")["cluster"] == "shared"
    assert parsed("audit", "s", "--cluster", "typed")["cluster"] == "typed"
    monkeypatch.setenv("PULSAR_BACKLOG_AUDIT_CLUSTER", "")
    assert parsed("audit", "s")["cluster"] == "shared"


def test_numbers_switches_and_lists_come_from_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULSAR_BACKLOG_AUDIT_GRACE_SECONDS", "7")
    monkeypatch.setenv("PULSAR_BACKLOG_AUDIT_EXIT_ZERO_WHEN_UNCHANGED", "true")
    monkeypatch.setenv("PULSAR_BACKLOG_AUDIT_TOPIC", "*/a */b")
    found = parsed("audit", "s")
    assert (found["grace_seconds"], found["exit_zero_when_unchanged"], found["topic"]) == (7, True, ["*/a", "*/b"])


def test_audit_takes_every_option_that_its_jobs_take() -> None:
    jobs = [entry.job for entry in load_pipelines().get("audit").jobs]
    taken = {name for job in jobs for name in JOB_OPTIONS[job]} - {"source"}
    assert taken <= set(parsed("audit", "s"))


OWN_FILE = """
defaults: {cluster: eu-1, grace_seconds: 5}
pipelines:
  nightly:
    description: d
    options: {source: /backlog, out: /audits, fail_on: never}
    jobs: [{job: inventory_ledgers}]
"""


def test_a_file_of_ones_own_wins_over_the_programs_and_adds_to_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(OWN_FILE)
    found = configured(str(file))
    assert set(found.pipelines) == {*load_pipelines().pipelines, "nightly"}
    audit = found.get("audit").options
    assert (audit.cluster, audit.grace_seconds, audit.fail_on, audit.model) == (
        "eu-1", 5, "error", load_pipelines().defaults.model,
    )  # fmt: skip
    argv = job_argv(found.get("nightly"), "inventory_ledgers", {"cluster": "typed"})
    assert argv[argv.index("--cluster") + 1] == "typed"
    assert argv[argv.index("--fail-on") + 1] == "never"


@pytest.mark.parametrize("text", ["", "defaults: {}", "pipelines: {}"])
def test_a_file_that_says_nothing_changes_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    assert configured(str(tmp_path / "mine.yaml")) == load_pipelines()


def run(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return fresh_python("-m", "pulsar_backlog.cli", *argv, **environment)


def test_a_mistake_in_the_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("default: {}")
    done = run("audit", "s", "--out", "o", PULSAR_BACKLOG_CONFIG=str(tmp_path / "mine.yaml"))
    assert (done.returncode, done.stderr) == (2, f"pulsar-backlog: {tmp_path / 'mine.yaml'}: default: unknown key\n")


def test_source_and_out_may_come_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"defaults: {{source: {tmp_path}/none, out: {tmp_path}/out}}")
    done = run("audit", "--config", str(file))
    assert (done.returncode, done.stderr) == (2, f"pulsar-backlog audit: '{tmp_path}/none' is not a folder\n")


def test_every_command_that_takes_options_of_jobs_has_a_file() -> None:
    with_file = {
        " ".join(path) for path, command in commands() if any(param.name == "config" for param in command.params)
    }
    assert with_file == {
        "audit", "run", "estimate", "export", "messages", "explain", "bundle", "sql", "changes", "locate", "forecast",
        "inventory", "compacted", "maintain", "snapshot", "rebuild-index", "rebuild-topic", "doctor", "repair plan",
        "repair missing", "repair show", "repair apply", "repair verify", "compare", "internals",
    }  # fmt: skip


def test_a_file_counts_where_neither_command_line_nor_variable_gives_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "defaults: {source: s, out: o, cluster: eu-1, topic: ['*/a', '*/b'], endpoint: 'http://e', timeout_seconds: 7,"
        " token_without_tls: true, accept_unsure: likely, to: t, admin_url: 'http://b:8080'}"
    )
    given = ("--config", str(file))
    assert (parsed("estimate", *given)["source"], parsed("estimate", "typed", *given)["source"]) == ("s", "typed")
    found = parsed("inventory", *given)
    assert (found["out"], found["cluster"], found["endpoint"]) == ("o", "eu-1", "http://e")
    assert parsed("explain", "place", "8:3", *given)["timeout_seconds"] == 7  # two arguments: none from the file
    assert parsed("explain", "place", "8:3", *given)["token_without_tls"] is False  # typed each time
    found = parsed("snapshot", "--out", "here", *given)
    assert (str(found["out"]), found["topic"], found["admin_url"]) == ("here", ["*/a", "*/b"], "http://b:8080")
    assert parsed("sql", "o", "SELECT 1", *given)["to"] is None  # a file there, a folder for jobs
    assert parsed("locate", "o", "--uuid", "u", *given)["cluster"] == "eu-1"
    assert parsed("inventory", *given, "--cluster", "typed")["cluster"] == "typed"
    monkeypatch.setenv("PULSAR_BACKLOG_CLUSTER", "variable")
    assert parsed("inventory", *given)["cluster"] == "variable"
    monkeypatch.setenv("PULSAR_BACKLOG_CONFIG", str(file))
    assert parsed("inventory")["out"] == "o"


def test_a_plan_takes_its_options_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("defaults: {out: o, cluster: eu-1, max_count: 3, accept_unsure: likely}")
    root = program()
    context = root.make_context("pulsar-backlog", [], resilient_parsing=True)
    plan = root.commands["repair"].commands["plan"]
    found = plan.make_context("plan", ["--config", str(file)], parent=context).params
    assert (found["out"], found["cluster"], found["max_count"], found["accept_unsure"]) == ("o", "eu-1", 3, None)


def test_a_mistake_in_the_file_is_one_sentence_for_every_command(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("defaults: {cluste: x}")
    done = run("estimate", "--config", str(tmp_path / "mine.yaml"), "s")
    assert (done.returncode, done.stderr) == (
        2, f"pulsar-backlog: {tmp_path / 'mine.yaml'}: defaults.cluste: unknown key\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("pulsar-backlog exp", {"export", "explain"}),
        ("pulsar-backlog audit --max-a", {"--max-ack-ranges"}),
        ("pulsar-backlog audit --fail-on ", {"error", "warning", "new-error", "new-warning", "never"}),
        ("pulsar-backlog completion ", {"bash", "zsh", "fish"}),
    ],
)
def test_bash_completes(words: str, expected: set[str], tmp_path: Path) -> None:
    """The script itself, asked as bash asks it."""
    program_file = tmp_path / "pulsar-backlog"
    program_file.write_text('#!/bin/sh\nexec "$PROGRAM_PYTHON" -m pulsar_backlog.cli "$@"\n')
    program_file.chmod(0o755)
    script = tmp_path / "script"
    script.write_text(run("completion", "bash").stdout)
    asked = words.split(" ")
    quoted = " ".join(f"'{word}'" for word in asked)
    ask = (
        f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(asked) - 1}; "
        '_pulsar_backlog_completion pulsar-backlog; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    env = {
        **os.environ, "PROGRAM_PYTHON": sys.executable, "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    done = subprocess.run(["bash", "-c", ask], env=env, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected


@pytest.mark.parametrize(("shell", "sign"), [("zsh", "#compdef pulsar-backlog"), ("fish", "complete --command pulsar")])
def test_other_shells_get_a_script_too(shell: str, sign: str) -> None:
    done = run("completion", shell)
    assert done.returncode == 0
    assert done.stdout.startswith(sign)
