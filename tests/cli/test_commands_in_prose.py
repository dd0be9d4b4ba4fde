"""Each command inside a sentence of a finding or an error runs as it stands; only words in capitals are filled in."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest

from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.options.printed import Run
from pulsar_backlog.report.commands import fill
from tests.auditing import DATA, OBJECTS, Audited
from tests.cli.prose import commands_in, commands_in_sources
from tests.cli.typed import typed
from tests.cluster.admin_server import AdminServer, admin_server
from tests.report.sample_parts import finding

NEEDS_SPARK = True

TOPIC, LEDGER = "persistent://lab/s3/brk-many-pending", 10
MAPFILES, OF_ONE_TOPIC = DATA / "mapfiles" / "source", (261, 266)

RUN_ELSEWHERE = {
    "commands/bundle.py": "tests/cli/test_bundle.py: explain is typed as bundle prints it",
    "report/comparison_page.py": "tests/jobs/test_compare_clusters.py: the commands of the report are typed",
    "report/terminal/comparison.py": "tests/jobs/test_compare_clusters.py: the question is asked as compare prints it",
    "commands/repair.py": "tests/broker/test_printed_verify.py: what apply prints is typed against a broker",
    "commands/repair_plan.py": "tests/cli/test_refused_first.py: a plan in a bucket is copied out of it as printed",
    "report/terminal/repair.py": "tests/cli/test_printed_commands.py; apply and verify: tests/broker/",
    "spark/session.py": "tests/spark_cluster/test_the_page.py: the page's own `jars` commands are run",
}
"""Commands that Python fills in: the test that runs them as they are printed."""


def prose() -> dict[str, str]:
    """Commands in sentences -> where they stand."""
    texts = ((kind.code, text) for kind in CATALOGUE.values() for text in (kind.meaning, kind.cause, kind.remedy))
    found = {command: code for code, text in texts for command in commands_in(text)}
    commands = {kind.command for kind in CATALOGUE.values()}
    sources = {text: file for text, file in commands_in_sources().items() if text not in commands}
    return {**sources, **found}


FILLED_BY_PYTHON = {text: file for text, file in prose().items() if "{" in text}
STANDING = sorted(set(prose()) - set(FILLED_BY_PYTHON))


@pytest.fixture(scope="module")
def out(bundled: Audited, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the audit, which exports and plans may write to."""
    copy = tmp_path_factory.mktemp("prose") / "audit"
    shutil.copytree(bundled.out, copy)
    return copy


@pytest.fixture(scope="module")
def admin() -> Iterator[AdminServer]:
    with admin_server() as server:
        server.holds("orders")
        yield server


def filled(command: str, out: Path, admin: AdminServer, folder: Path) -> str:
    """The command with its words in capitals filled in; of those that it has not, nothing changes."""
    source, ledgers = OBJECTS, cycle([LEDGER])
    if "rebuild-topic" in command:
        source, ledgers = MAPFILES, iter(OF_ONE_TOPIC)
    elif "rebuild-index" in command:
        source = without_index(folder)
    made = folder / "made"
    if "explain THIS.zip" in command:
        command = command.replace("THIS.zip", shlex.quote(str(bundle_of(out, folder))))
    values = {
        "LEDGER:ENTRY": f"{LEDGER}:0", "http://BROKER:8080": admin.url, "SOURCE": shlex.quote(str(source)),
        "OUT": shlex.quote(str(made if "backlog compare " in command else out)), "DIR": shlex.quote(str(made)),
        "TOPIC": TOPIC,
        "AUDIT": shlex.quote(str(out)), "AUDIT_A": shlex.quote(str(out)), "AUDIT_B": shlex.quote(str(out)),
        "FOLDER": str(DATA / "export" / "keys"), "SUBJECT": TOPIC, "TIME": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    names = "|".join(map(re.escape, (*values, "LEDGER")))

    def value(found: re.Match[str]) -> str:
        return values.get(found.group()) or str(next(ledgers))

    text = re.sub(rf"(?<![\w-])(?:{names})(?![\w-])", value, command)
    assert not re.search(r"\b[A-Z]{3,}\b", text.partition('"')[0].replace(str(folder), "")), text
    return text


def bundle_of(out: Path, folder: Path) -> Path:
    """A bundle with the first entry of `LEDGER`."""
    path = folder / "C06.zip"
    done = typed(f"pulsar-backlog bundle {out} --finding C06 --topic {TOPIC} --entry {LEDGER}:0 --to {path}")
    assert done.code == 0, done.stderr
    return path


def without_index(folder: Path) -> Path:
    """A source with the data object of a ledger alone: then an index is rebuilt."""
    (data,) = OBJECTS.glob(f"*-ledger-{LEDGER}")
    (folder / "source").mkdir()
    shutil.copy(data, folder / "source")
    return folder / "source"


def test_what_python_fills_in_is_run_by_other_tests() -> None:
    assert set(FILLED_BY_PYTHON.values()) == set(RUN_ELSEWHERE)


@pytest.mark.parametrize("command", STANDING)
def test_a_command_in_a_sentence_runs(command: str, out: Path, admin: AdminServer, tmp_path: Path) -> None:
    done = typed(filled(command, out, admin, tmp_path))
    assert done.code in (0, 1, 99), done.stderr
    assert done.stdout


def commands_of_findings() -> list[str]:
    """The commands of the catalogue, each shape once, as a report prints them: for a finding that has all places."""
    row = finding("S10", str(LEDGER), "m", topic=TOPIC, ledger_id=LEDGER, entry_id=0)
    run = Run("SOURCE", "OUT", {"cluster": "demo"})
    found = {fill(kind.command, run, row) for kind in CATALOGUE.values()}
    return sorted(one for one in found if one.startswith("pulsar-backlog "))


@pytest.mark.parametrize("command", commands_of_findings())
def test_the_command_of_a_finding_runs(command: str, out: Path, admin: AdminServer, tmp_path: Path) -> None:
    done = typed(filled(command, out, admin, tmp_path))
    assert done.code in (0, 1), done.stderr
    assert done.stdout
