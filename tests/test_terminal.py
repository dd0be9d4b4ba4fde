"""Nothing that others wrote reaches a terminal as more than text, whoever prints it."""

from __future__ import annotations

import argparse
import io
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

import pulsar_backlog
from pulsar_backlog.foreign_text import visible, visible_lines
from pulsar_backlog.terminal import guard_streams, terminal

HOSTILE = "a\x1b]0;title\x07\x9b31m\u202egnp\u2066\u2069\u200f\u200e\u2028\u2029\x85\r\x00\x7f[bold]:bug:[/][link=http://x]z[/]b"
WRITTEN = (
    r"a\x1b]0;title\x07\x9b31m\u202egnp\u2066\u2069\u200f\u200e\u2028\u2029\x85\x0d\x00\x7f"
    "[bold]:bug:[/][link=http://x]z[/]b"
)

BY_RICH = WRITTEN.replace(r"\x07", "").replace(r"\x0d", "")
"""Rich leaves some control characters out."""

ACTS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@contextmanager
def guarded() -> Iterator[io.StringIO]:
    """Both standard streams, guarded."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        guard_streams()
        yield out


def test_lines_and_tabs_stay_and_all_else_is_written_out() -> None:
    assert visible_lines(f"{HOSTILE}\n\tünï ✓ 漢字\n") == f"{WRITTEN}\n\tünï ✓ 漢字\n"


def test_whoever_writes_to_a_stream() -> None:
    with guarded() as stream:
        guard_streams()  # twice is as once
        sys.stdout.write(f"{HOSTILE}\n")
        sys.stderr.writelines([HOSTILE, "\n"])
        try:
            raise ValueError(HOSTILE)
        except ValueError:
            traceback.print_exc()
        assert sys.stdout.isatty() is False
        parser = argparse.ArgumentParser()
        parser.add_argument("--kind", choices=["a"])
        with pytest.raises(SystemExit):
            parser.parse_args(["--kind", HOSTILE])
    said = stream.getvalue()
    assert said.count(WRITTEN) == 3
    assert not re.search(r"[^\n\t -~]", said)


def test_a_console_takes_text_as_text() -> None:
    with guarded() as stream:
        console = terminal()
        console.width = 400
        console.print(HOSTILE)
        console.print(Text(HOSTILE))
        console.print(Text.from_ansi("").append(HOSTILE, style="bold"))
        grid = Table(HOSTILE, visible(HOSTILE))
        grid.add_row(Text(HOSTILE), visible(HOSTILE))
        console.print(grid)
    said = stream.getvalue()
    assert said.count(BY_RICH) == 3
    assert said.count(WRITTEN) == 2
    assert not ACTS.search(said)


def test_a_console_on_a_terminal_still_has_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with guarded() as stream:
        terminal().print(Text.assemble((HOSTILE, "bold")), soft_wrap=True)
    assert stream.getvalue() == f"\x1b[1m{BY_RICH}\x1b[0m\n"


def test_there_is_no_other_way_to_a_terminal() -> None:
    """Consoles of rich that take markup, and streams below the guarded ones, are made in one module."""
    home = Path(pulsar_backlog.__file__).parent
    paths = (*home.rglob("*.py"), *(home.parents[1] / "jobs").glob("*.py"))
    texts = {
        str(path.relative_to(home.parents[1])).removeprefix("lib/pulsar_backlog/"): path.read_text() for path in paths
    }
    others = re.compile(r"\bConsole\(|__std(out|err)__|std(out|err)\.buffer|rich\.print|rich\.markup|os\.write\(")
    # One writes rows to a pipe, one a constant sentence when all else is torn down, one numbers to a file.
    allowed = ["cluster/patience.py", "interrupts.py", "ledgers/bookies/index_program.py"]
    assert sorted(name for name, text in texts.items() if others.search(text)) == allowed
    assert [name for name, text in texts.items() if "ensure_ascii" in text] == [
        "json_text.py",
        "report/terminal/messages.py",
    ]
