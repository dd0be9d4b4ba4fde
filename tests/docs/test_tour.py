"""docs/tour.md is true: its commands are run on the bundled audit, and print what the page shows."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from pulsar_backlog.cli import run_cli
from tests.auditing import Audited

NEEDS_SPARK = True

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tour.md").read_text()
SHOWN = [(command, text) for command, text in re.findall(r"^```console\n\$ (.*)\n((?s:.*?))^```$", PAGE, re.MULTILINE)]
ELLIPSIS = "..."


def pattern(text: str) -> re.Pattern[str]:
    """What a page shows: a line of three dots stands for any lines, three dots within one for any text."""
    lines = [
        r"(?:.*\n)*?" if line == ELLIPSIS else ".*?".join(map(re.escape, line.rstrip().split(ELLIPSIS))) + r" *\n"
        for line in text.splitlines()
    ]
    return re.compile("".join(lines))


def collapsed(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def place(bundled: Audited, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the repository looks to who types the commands, after `make demo`."""
    folder = tmp_path_factory.mktemp("tour")
    shutil.copytree(bundled.out, folder / "demo-out")
    (folder / "tests").symlink_to(ROOT / "tests")
    return folder


def printed(
    command: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """What a command prints on a terminal of 80 columns without colours."""
    for name, value in {"FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as ended:
        run_cli()
    return int(ended.value.code or 0), capsys.readouterr().out


def test_the_page_goes_from_the_audit_to_the_plan() -> None:
    assert [command.split()[:2] for command, _ in SHOWN] == [
        ["make", "demo"], ["pulsar-backlog", "sql"], ["pulsar-backlog", "locate"], ["pulsar-backlog", "explain"],
        ["pulsar-backlog", "export"], ["pulsar-backlog", "repair"],
    ]  # fmt: skip


def test_the_verdict_and_what_to_do_are_those_of_the_audit(bundled: Audited) -> None:
    command, text = SHOWN[0]
    assert command == "make demo"
    result = bundled.result
    steps = [step for step in result["next"] if step["subscription"] is not None]
    said = [
        result["verdict"]["headline"],
        result["verdict"]["sureness"],
    ]
    before = None
    for step in steps:
        if step["subscription"] != before:
            said.append(f"{'What commands put right' if before else 'Next'} (subscription {step['subscription']}):")
            said += [step["advice"], step["how"]]
        before = step["subscription"]
        command = step["command"].replace(str(bundled.out.resolve()), "demo-out")
        said += [command.replace(bundled.source, "tests/data/backlog/objects"), step["changes"]]
    assert [step["command"].split()[1] for step in steps] == ["export", "repair", "export", "repair"]
    parts = [collapsed(part) for part in re.split(r"^\.\.\.$", text, flags=re.MULTILINE) if part.strip()]
    assert parts == [collapsed(" ".join(said[:2])), collapsed(" ".join(said[2:]))]


@pytest.mark.parametrize(("command", "text"), SHOWN[1:], ids=[command[:40] for command, _ in SHOWN[1:]])
def test_a_command_prints_what_the_page_shows(
    command: str, text: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = printed(command, place, monkeypatch, capsys)
    assert code in (0, 1), out
    assert pattern(text).fullmatch(out), out


def test_three_dots_stand_for_what_is_left_out_and_nothing_else() -> None:
    assert pattern("a\n...\nb ... c\n").fullmatch("a\nx\ny\nb 12 c\n")
    assert not pattern("a\n...\nb\n").fullmatch("a\nx\ny\n")
    assert not pattern("a.c\n").fullmatch("abc\n")
