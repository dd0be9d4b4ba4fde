"""Commands that hold commands, as help lists them."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

_WHOLE = 1000
"""Characters of a summary, far more than its first sentence has."""


class Group(TyperGroup):
    """Lists each command with the whole first sentence of its help, however narrow the terminal."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Written by `--help`."""
        named = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, command.get_short_help_str(_WHOLE)) for name, command in named if command and not command.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)
