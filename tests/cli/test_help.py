"""What `--help` says: each command in a whole sentence, however narrow the terminal."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from pulsar_backlog.command_line import COMMANDS, app, program


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


@pytest.mark.parametrize("name", list(program().commands))
def test_a_command_by_itself_is_the_same_command(name: str) -> None:
    """A process makes the one that its first word names.

    For `repair`, a group, for `doctor`, which knows the variables of all, and for no command it makes all.
    """
    whole, alone = program(), program(name)
    assert list(alone.commands) == (list(whole.commands) if name in ("repair", "doctor") else [name])
    helps = [_help_of(one.commands[name], name) for one in (whole, alone)]
    assert helps[0] == helps[1] != ""
    variables = [{p.name: getattr(p, "envvar", None) for p in one.commands[name].params} for one in (whole, alone)]
    assert variables[0] == variables[1]


def test_no_command_has_all_to_choose_from() -> None:
    assert list(program("frob").commands) == list(program("--help").commands) == list(program().commands)


def _help_of(command: Any, name: str) -> str:
    with command.make_context(name, [], resilient_parsing=True) as context:
        return str(command.get_help(context))
