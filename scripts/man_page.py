"""The man page of the command line, made of what `--help` says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pulsar_backlog import __version__
from pulsar_backlog.command_line import program
from pulsar_backlog.commands.variables import PREFIX
from pulsar_backlog.terms import (
    EXIT_CLEAN,
    EXIT_FAILED,
    EXIT_FINDINGS,
    EXIT_INCOMPLETE,
    EXIT_INTERRUPTED,
    EXIT_UNCHANGED,
    EXIT_USAGE,
)

EXIT_WORDS = {
    EXIT_CLEAN: "clean",
    EXIT_FINDINGS: "findings at or above --fail-on",
    EXIT_USAGE: "a mistake in options, configuration or environment, named in one sentence",
    EXIT_FAILED: "runtime error",
    EXIT_INCOMPLETE: "incomplete: something was unreadable; everything else was done",
    EXIT_UNCHANGED: "nothing new to do",
    EXIT_INTERRUPTED: "stopped by Ctrl-C; what was finished stays",
}


def man_page() -> str:
    """The page as roff."""
    root = program()
    return "\n".join([
        f'.TH PULSAR\\-BACKLOG 1 "" "pulsar-backlog {__version__}" "User Commands"',
        ".SH NAME", f"pulsar\\-backlog \\- {roff(root.help.rstrip('.'))}",
        ".SH SYNOPSIS", ".B pulsar\\-backlog", ".I COMMAND", "[arguments] [options]",
        ".SH DESCRIPTION", roff(root.help),
        ".SH COMMANDS", *commands(root, ()),
        ".SH EXIT STATUS", *(line for code, words in EXIT_WORDS.items() for line in (".TP", str(code), roff(words))),
        ".SH ENVIRONMENT", *environment(),
        ".SH FILES", ".TP", "~/.cache/pulsar\\-backlog/logs", "what Java and Spark say, and stack traces",
        "",
    ])  # fmt: skip


def commands(group: Any, path: tuple[str, ...]) -> Iterator[str]:
    """A section for each command, those of groups after their group's."""
    for name, command in group.commands.items():
        own = (*path, name)
        if hasattr(command, "commands"):
            yield from commands(command, own)
            continue
        arguments = " ".join(p.metavar or p.name.upper() for p in command.params if p.param_type_name == "argument")
        yield from (".SS", roff(" ".join([*own, arguments]).strip()), roff(command.help))
        for option in command.params:
            if option.param_type_name == "option" and not option.hidden and option.name != "help":
                value = "" if option.is_flag else f" \\fI{roff(option.metavar or 'VALUE')}\\fR"
                yield from (".TP", f"\\fB{roff(option.opts[0])}\\fR{value}", roff(option.help or ""))


def environment() -> Iterator[str]:
    """How variables give options."""
    yield from (".TP", f"{roff(PREFIX)}_\\fICOMMAND\\fR_\\fIOPTION\\fR")
    yield roff(
        f"gives an option that the command line does not give, such as {PREFIX}_AUDIT_OUT; several values are "
        f"separated by spaces. What means the same to all commands is also taken from {PREFIX}_OPTION, such as "
        f"{PREFIX}_CLUSTER. Options that permit something dangerous have no variable."
    )
    yield from (".TP", f"{roff(PREFIX)}_TOKEN", "token for a cluster, where no file is named")


def roff(text: str) -> str:
    """Text on one line, of which nothing is read as a request."""
    line = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line[:1] in (".", "'") else line
