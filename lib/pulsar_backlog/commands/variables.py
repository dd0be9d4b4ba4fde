"""Environment variables for options: `PULSAR_BACKLOG_<COMMAND>_<OPTION>`, and one name for what all commands share.

A variable counts where the command line does not give its option; an empty one does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

PREFIX = "PULSAR_BACKLOG"

SHARED = frozenset({
    "cluster", "endpoint", "store-attempts", "store-timeout-seconds", "store-range-bytes", "store-concurrency",
    "config", "admin-url", "service-url", "token-file", "ca-file", "cert-file", "key-file", "timeout-seconds",
    "broker-host",
})  # fmt: skip
"""Options that mean the same to every command: `PULSAR_BACKLOG_<OPTION>` gives them to all."""

NEVER = frozenset({
    "yes", "allow-consumers", "allow-no-deduplication", "allow-terminated", "token-without-tls", "accept-unsure",
    "give-up",    "sole-owner", "show-values", "verbose", "version", "help",
})  # fmt: skip
"""Options that permit something dangerous are typed each time; the others have a variable of their own, or none."""


def name_variables(command: Any, path: tuple[str, ...] = ()) -> Any:
    """The same command with a variable for each option, of those below it too."""
    for name, below in getattr(command, "commands", {}).items():
        name_variables(below, (*path, name))
    for option in command.params:
        if option.param_type_name == "option":
            option.envvar = list(variables(path, option.opts[0])) or None
            option.show_envvar = False  # one rule for all of them: docs/audit.md
    return command


def variables(path: tuple[str, ...], flag: str) -> Iterator[str]:
    """The variables of an option, the one that counts first; none for one that is always typed."""
    name = flag.removeprefix("--")
    if name in NEVER:
        return
    yield _upper(PREFIX, *path, name)
    if name in SHARED:
        yield _upper(PREFIX, name)


def _upper(*parts: str) -> str:
    return "_".join(parts).replace("-", "_").upper()
