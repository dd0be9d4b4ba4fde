"""What `--help` says: each command in a whole sentence, however narrow the terminal."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from pulsar_backlog.command_line import COMMANDS, app


@pytest.mark.parametrize("words", [[], ["repair"]])
def test_each_command_is_summed_up_in_a_whole_sentence(words: list[str]) -> None:
    for width in ("40", "80", "200"):
        shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": width, "TERMINAL_WIDTH": width}).output
        assert "..." not in shown.partition("Commands:")[2], shown
    if not words:
        flat = " ".join(shown.split())
        for command in COMMANDS:
            first = " ".join((command.__doc__ or "").split()).partition(". ")[0].rstrip(".")
            assert f"{first}." in flat, command.__name__
