"""The command line. A command is a module of `commands/`, put on the list here."""

from __future__ import annotations

import os
import sys
from copy import copy
from typing import Annotated, Any

import typer
from typer.main import get_command, get_command_name

from pulsar_backlog.commands.audit import audit
from pulsar_backlog.commands.audit import run as run_pipeline
from pulsar_backlog.commands.bundle import bundle
from pulsar_backlog.commands.changes import changes
from pulsar_backlog.commands.compacted import compacted
from pulsar_backlog.commands.compare import compare
from pulsar_backlog.commands.completion import COMPLETE_VARIABLE, completion
from pulsar_backlog.commands.configuration import add_configuration
from pulsar_backlog.commands.doctor import doctor
from pulsar_backlog.commands.estimate import estimate
from pulsar_backlog.commands.explain import explain
from pulsar_backlog.commands.export import export
from pulsar_backlog.commands.forecast import forecast
from pulsar_backlog.commands.groups import Group
from pulsar_backlog.commands.internals import internals
from pulsar_backlog.commands.inventory import inventory
from pulsar_backlog.commands.jars import jars
from pulsar_backlog.commands.locate import locate
from pulsar_backlog.commands.maintain import maintain
from pulsar_backlog.commands.messages import messages
from pulsar_backlog.commands.rebuild_index import rebuild_index
from pulsar_backlog.commands.rebuild_topic import rebuild_topic
from pulsar_backlog.commands.repair import repair
from pulsar_backlog.commands.snapshot import snapshot
from pulsar_backlog.commands.sql import sql
from pulsar_backlog.commands.variables import name_variables
from pulsar_backlog.known_secrets import remember_environment
from pulsar_backlog.runs.endings import ending, is_interrupt
from pulsar_backlog.terminal import guard_streams
from pulsar_backlog.terms import EXIT_CLEAN

COMMANDS = (
    audit, run_pipeline, estimate, export, messages, explain, bundle, sql, changes, compare, locate, forecast,
    inventory, internals, compacted, maintain, snapshot, rebuild_index, rebuild_topic, doctor, jars, completion,
)  # fmt: skip
"""In the order in which help lists them."""

app = typer.Typer(
    cls=Group,
    help="Read Apache Pulsar backlogs straight from storage and say exactly what is in them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(repair, name="repair")


def _version(wanted: bool) -> None:
    if wanted:
        from pulsar_backlog.versions import version_lines  # noqa: PLC0415 - only here

        typer.echo("\n".join(version_lines()))
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="versions of the program, its build and what it stands on",
        ),
    ] = False,
) -> None:
    """Read Apache Pulsar backlogs straight from storage and say exactly what is in them."""


def run() -> int:
    """Exit code of the command that the process's arguments name; what stops it is one sentence.

    Raises:
        SystemExit: typer has said what is wrong with the command line, or with the code of `typer.Exit`.
    """
    guard_streams()
    remember_environment(os.environ)
    return ending("pulsar-backlog", _run)


def program(first: str | None = None) -> Any:
    """The whole command line, with the environment variables and the file that give its options.

    Args:
        first: its first word. Where that is a command, there is no other, but for one that looks at all of them: to
            make them takes a while.
    """
    if COMPLETE_VARIABLE in os.environ:
        from typer._completion_classes import completion_init  # noqa: PLC0415 - slow, and only for a shell that asks

        completion_init()
    one = None if first == doctor.__name__ else _with_one(first)
    return name_variables(add_configuration(get_command(one or app)))


def _with_one(name: str | None) -> typer.Typer | None:
    """The app with one command alone; None where it has no such command."""
    infos = [one for one in app.registered_commands if one.callback and get_command_name(one.callback.__name__) == name]
    if not infos:
        return None
    small = copy(app)
    small.registered_commands, small.registered_groups = infos, []
    return small


def _run() -> int:
    try:
        program(next(iter(sys.argv[1:]), None))(prog_name="pulsar-backlog")
    except SystemExit as ended:
        if is_interrupt(ended):  # typer has made an exit of it, without a word
            raise KeyboardInterrupt from ended
        raise
    return EXIT_CLEAN
