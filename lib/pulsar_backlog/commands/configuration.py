"""`--config FILE` of commands that take options of jobs: its `defaults` count where nothing else gives an option.

`audit`, `run` and `export` read pipelines from the file too, and `doctor` checks it: they have the option themselves.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.main import get_command

from pulsar_backlog.commands.variables import NEVER
from pulsar_backlog.options import OPTIONS

NOT_OF_JOBS = frozenset({
    ("snapshot", "out"), ("sql", "to"), ("rebuild-index", "to"), ("rebuild-topic", "topic"),
    ("rebuild-topic", "ledger"), ("messages", "limit"),
})  # fmt: skip
"""Options that mean something else than the job's option of that name."""


def add_configuration(command: Any, path: tuple[str, ...] = ()) -> Any:
    """The same command with `--config` where it takes options of jobs, and those below it too."""
    below = getattr(command, "commands", {})
    for name, one in below.items():
        add_configuration(one, (*path, name))
    if not below and _of_jobs(command, path[-1:]) and not any(param.name == "config" for param in command.params):
        option = _option()
        option.callback = _take(path[-1:])
        command.params.append(option)
    return command


def _option() -> Any:
    """The option as typer makes it: read before the others, and no argument of the command."""

    def takes(
        config: Annotated[
            str | None,
            typer.Option(
                metavar="FILE", is_eager=True, expose_value=False, show_default=False,
                help="options in a file, as the defaults in pipelines.yaml",
            ),
        ] = None,
    ) -> None:  # fmt: skip
        """Carries the option."""

    app = typer.Typer(add_completion=False)
    app.command()(takes)
    return get_command(app).params[0]


def _of_jobs(command: Any, path: tuple[str, ...]) -> dict[str, Any]:
    """The command's parameters that are options of jobs: an argument only where no other could be taken for it."""
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    return {
        param.name: param
        for param in command.params
        if param.name in OPTIONS
        and param.name.replace("_", "-") not in NEVER
        and (*path, param.name) not in NOT_OF_JOBS
        and (param.param_type_name == "option" or len(arguments) == 1)
    }


def _take(path: tuple[str, ...]) -> Any:
    def take(context: Any, _: object, file: str | None) -> None:
        if file and not context.resilient_parsing:
            from pulsar_backlog.config import own_defaults

            given = own_defaults(file)
            taken = {
                name: given[name]
                for name, param in _of_jobs(context.command, path).items()
                if name in given and isinstance(given[name], tuple) == getattr(param, "multiple", False)
            }
            context.default_map = {**(context.default_map or {}), **taken}

    return take
