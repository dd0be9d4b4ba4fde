"""Commands as they are printed, typed into the program: split as a shell does, and run in this process."""

from __future__ import annotations

import html
import io
import re
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from pulsar_backlog.cli import run_cli

_IN_PAGE = re.compile(r'<pre class="command"[^>]*><code>(.*?)</code>', re.DOTALL)


@dataclass(frozen=True)
class Typed:
    """How a command ended, and what it said."""

    code: int
    stdout: str
    stderr: str


def typed(command: str) -> Typed:
    """Run a printed command."""
    words = shlex.split(command)
    assert words[0] == "pulsar-backlog", command
    stdout, stderr = io.StringIO(), io.StringIO()
    code = 0
    with patch.object(sys, "argv", words), redirect_stdout(stdout), redirect_stderr(stderr):
        try:
            run_cli()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Typed(code, stdout.getvalue(), stderr.getvalue())


def commands_in_pages(out: Path) -> set[str]:
    """The commands that the pages of an audit show."""
    pages = [*out.glob("*.html"), *out.glob("report/*.html")]
    return {html.unescape(text) for page in pages for text in _IN_PAGE.findall(page.read_text())}
