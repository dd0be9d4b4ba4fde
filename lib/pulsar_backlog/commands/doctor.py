"""`doctor`: whether everything that a run needs is there, a sentence for each thing; nothing is changed or fetched."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.options import ConfigOption, Given, MaybeSourceArgument, job_options
from pulsar_backlog.commands.variables import PREFIX
from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.options import OPTIONS, given_options
from pulsar_backlog.options.printed import COMMAND_OPTIONS
from pulsar_backlog.terms import EXIT_CLEAN, EXIT_USAGE

if TYPE_CHECKING:
    from pulsar_backlog.ledgers.live.service import Live

Word = Literal["ok", "note", "wrong"]
Lines = Iterator[tuple[Word, str]]

PYTHONS = ((3, 11), (3, 12), (3, 13))
"""Versions of Python that pyproject.toml allows."""
OWN_VARIABLES = frozenset(
    f"{PREFIX}_{name}" for name in ("HOME", "JARS", "LEDGER_PASSWORD", "LOGS", "RECORD_CLASSES", "TOKEN", "VERBOSE")
)
_ONE_TRY_SECONDS = 10


@job_options(*COMMAND_OPTIONS["doctor"])
def doctor(
    context: typer.Context,
    given: Given,
    source: MaybeSourceArgument = None,
    out: Annotated[str, typer.Option(metavar="DIR", help=OPTIONS["out"].words.help)] = ".",
    config: ConfigOption = None,
) -> None:
    """Check what a run needs: Python, Java, jars, disk, configuration; with SOURCE also endpoint and credentials."""
    root = context.find_root().command
    checks: dict[str, Callable[[], Lines]] = {
        "Python": _python,
        "Java": _java,
        "jars": _jars,
        "disk": lambda: _disk(Path(absolute("out", out) or out)),
        "configuration": lambda: _configuration(config),
        "variables": lambda: _variables(root),
        "source": lambda: _source({**given, "source": source}),
    }
    words = [word for name, check in checks.items() for word in _tell(name, check)]
    raise typer.Exit(EXIT_USAGE if "wrong" in words else EXIT_CLEAN)


def _tell(name: str, check: Callable[[], Lines]) -> Iterator[Word]:
    from pulsar_backlog.foreign_text import MAX_SENTENCE, visible

    try:
        lines = list(check())
    except (UsageError, SourceError) as error:
        lines = [("wrong", str(error))]
    for word, sentence in lines:
        sys.stdout.write(f"{word:<5}  {name}: {visible(sentence, MAX_SENTENCE)}\n")
        yield word


def _python() -> Lines:
    from pulsar_backlog.versions import PACKAGES, package_version

    if sys.version_info[:2] not in PYTHONS:
        wanted = " or ".join(f"{major}.{minor}" for major, minor in PYTHONS)
        yield "wrong", f"this is Python {platform.python_version()}: install the program with Python {wanted}"
    missing = [name for name in PACKAGES if package_version(name) is None]
    if missing:
        yield "wrong", f"{', '.join(missing)} cannot be found: install the program again, with its locked requirements"
    else:
        yield "ok", f"{platform.python_version()}, and all {len(PACKAGES)} packages are there"


def _java() -> Lines:
    from pulsar_backlog.spark.java import check_java, java_path
    from pulsar_backlog.spark.session import check_java_start

    version = check_java()
    check_java_start()
    yield "ok", f"{java_path()} is Java {version}, and starts as Spark starts it"


def _jars() -> Lines:
    from pulsar_backlog.spark.jars import JARS_VARIABLE, jars_folder, unsound_jars

    if missing := unsound_jars():
        remedy = f"where there is no network, copy that folder from another machine, or name one with {JARS_VARIABLE}"
        there = f"{', '.join(missing)} is not in {jars_folder()}"
        yield "note", f"{there}: the first audit fetches it from Maven Central; {remedy}"
    else:
        yield "ok", f"the Delta jars are in {jars_folder()}"


def _disk(out: Path) -> Lines:
    from pulsar_backlog.runs.claims import check_room

    there = next(folder for folder in (out, *out.parents) if folder.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"--out {out}: this user may not write to {there}: choose another, or let its owner do it")
    for folder, option in ((there, "--out"), (Path(tempfile.gettempdir()), "TMPDIR")):
        check_room(folder, option)
        yield "ok", f"{shutil.disk_usage(folder).free / 1e9:,.1f} GB are free for {option} at {folder}"


def _configuration(config: str | None) -> Lines:
    from pulsar_backlog.config import configured, home

    pipelines = ", ".join(sorted(configured(config).pipelines))
    yield "ok", f"{config or home() / 'pipelines.yaml'} is right; pipelines: {pipelines}"


def _variables(root: Any) -> Lines:
    """Variables that look like ours and are not: a slip of the pen would otherwise go unseen."""
    from difflib import get_close_matches

    names = OWN_VARIABLES | set(_named(root))
    ours = sorted(name for name in os.environ if name.startswith(f"{PREFIX}_"))
    for name in ours:
        if name not in names:
            meant = get_close_matches(name, names, 1)
            yield "wrong", f"{name} is set, and no option has it{f': {meant[0]} may be meant' if meant else ''}"
    if set(ours) <= names:
        yield "ok", f"set are {', '.join(ours)}" if ours else f"no {PREFIX}_ variable is set"


def _named(command: Any) -> Iterator[str]:
    for option in command.params:
        yield from option.envvar or ()
    for below in getattr(command, "commands", {}).values():
        yield from _named(below)


def _source(given: dict[str, Any]) -> Lines:
    if given["source"] is None:
        yield "note", "not looked at: name a SOURCE to check endpoint and credentials too"
        return
    from pulsar_backlog.arguments import live_of, source_of
    from pulsar_backlog.ledgers.first_look import look_at
    from pulsar_backlog.ledgers.live.service import is_service
    from pulsar_backlog.ledgers.scope import Scope

    bounds = {"store_attempts": 1, "store_timeout_seconds": _ONE_TRY_SECONDS}
    options = given_options({**given, **bounds, "source": absolute("source", given["source"])})
    if (live := live_of(options)) is not None:
        yield from _brokers(live)
    if is_service(options.source or ""):
        return
    opened = source_of(options.model_copy(update={"live": None}))
    look_at(opened, Scope())
    first = next(opened.list(), None)  # the look gives up after a while; this does not
    if first is None:
        raise UsageError(
            f"{options.source} is empty: name the folder, or the bucket and prefix, to which the broker offloads"
        )
    opened.read(first.path, 0, 1)
    yield "ok", f"{options.source} can be listed and read, and there are offloaded ledgers in it"


def _brokers(live: Live) -> Lines:
    from pulsar_backlog.cluster.admin_http import AdminHttp
    from pulsar_backlog.cluster.admin_rest import AdminRest
    from pulsar_backlog.ledgers.live.place import access_of
    from pulsar_backlog.protocol.connection import Connection, Service

    access = access_of(live)
    with closing(AdminHttp(live.admin_url, access)) as http:
        yield "ok", f"{live.admin_url} answers: Pulsar {AdminRest(http).version()}"
    Connection(Service(live.service_url, access)).close()
    yield "ok", f"{live.service_url} lets us in"
