"""`completion`: what makes a shell complete commands, options and their values."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

COMPLETE_VARIABLE = "_PULSAR_BACKLOG_COMPLETE"


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="the shell", show_default=False)],
) -> None:
    """Print a script that makes a shell complete this command; docs/audit.md says where to put it."""
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="pulsar-backlog", complete_var=COMPLETE_VARIABLE, shell=shell))
