"""A command that a page shows works: it is run where that needs no audit of its own, and parsed where it does."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pulsar_backlog.cli import run_cli
from pulsar_backlog.command_line import program
from tests.auditing import ADMIN, OBJECTS, Audited
from tests.docs.shell_examples import PAGES, ROOT, Example, examples

NEEDS_SPARK = True

ALL = examples(PAGES)
SYNOPSES = {"pulsar-backlog audit SOURCE --out DIR [--admin DIR] [--cluster NAME]"}
"""Lines that stand for many commands."""
PLACES = {
    "./copied-objects": OBJECTS, "SOURCE": OBJECTS, "LEDGER:ENTRY": "24:0", "1041": "1", "persistent://shop/*": "*",
    "producer-7-1041": "many-0", "tests/data/backlog/objects": OBJECTS,
    "tests/data/backlog/admin": ADMIN, "s3://pulsar-offload": OBJECTS,
}  # fmt: skip
"""What the pages' names stand for in the bundled backlog."""
ANSWERS = ("explain", "sql", "changes", "locate", "doctor")
"""Commands that are run: they take a second, and start no JVM."""
STARTED = {
    "bundle",
    "audit",
    "run",
    "export",
    "snapshot",
    "repair",
    "estimate",
    "rebuild-index",
    "rebuild-topic",
    "compacted",
    "maintain",
    "inventory",
    "compare",
    "internals",
}
"""Commands that are only parsed here: they need Spark, a bucket or what a broker wrote, and have tests of their own."""


def ours() -> list[Example]:
    return [one for one in ALL if one.words[0] == "pulsar-backlog" and one.line not in SYNOPSES]


def test_there_are_examples_and_each_is_looked_at() -> None:
    by_page = {page: [one for one in ALL if one.page == page] for page in ("README.md", "audit.md", "tour.md")}
    assert len(by_page["README.md"]) >= 12
    assert any(one.words[1] == "snapshot" for one in by_page["audit.md"])  # goes over two lines
    assert any("repair" in one.line for one in by_page["tour.md"])
    assert {one.line for one in ALL} >= SYNOPSES
    assert {one.words[1] for one in ours()} <= {*ANSWERS, *STARTED}


@pytest.mark.parametrize("example", ours(), ids=lambda one: f"{one.page} {one.line[:60]}")
def test_every_command_is_one_that_the_program_takes(example: Example) -> None:
    command, words = program(), example.words[1:]
    context = command.make_context("pulsar-backlog", [], resilient_parsing=True)
    while hasattr(command, "commands"):
        command, name, words = command.commands[words[0]], words[0], words[1:]
    command.make_context(name, words, parent=context)


@pytest.mark.parametrize("line", [one.line for one in ALL if one.words[0] == "make"])
def test_every_verb_is_in_the_makefile(line: str) -> None:
    verb = line.split()[1]
    assert re.search(rf"^{verb}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    "example",
    [
        one
        for one in ours()
        if one.words[1] in ANSWERS
        and not re.search(r"pulsar://|C06\.zip", one.line)  # a broker is asked, or a bundle: tests/cli/test_bundle.py
    ],
    ids=lambda one: f"{one.page} {one.line[:60]}",
)
def test_what_answers_at_once_answers(
    example: Example,
    bundled: Audited,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    places = {**PLACES, **dict.fromkeys(("./audit", "demo-out", "s3a://audits/eu-1"), bundled.out)}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(places.get(word, word)) for word in example.words])
    with pytest.raises(SystemExit) as ended:
        run_cli()
    said = capsys.readouterr()
    assert not ended.value.code, said.err
    assert said.out or "rows written" in said.err
