"""Where the words of Java and Spark and stack traces go: a file for each process, named by what is said of a failure.

On a terminal they would bury that one sentence; `--verbose` shows them there.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import IO

from pulsar_backlog.foreign_text import visible_lines

LOGS_VARIABLE = "PULSAR_BACKLOG_LOGS"
"""Environment variable that names the folder of the files; by default one in the user's cache."""
VERBOSE_VARIABLE = "PULSAR_BACKLOG_VERBOSE"
"""Environment variable that, when it is not empty, lets everything through to standard error, as `--verbose` does."""

MAX_LOG_FILES = 20
"""Files of earlier processes that stay."""


def is_verbose() -> bool:
    """Whether everything is shown on standard error, and no file is written."""
    return bool(os.environ.get(VERBOSE_VARIABLE))


def show_all(wanted: bool) -> None:
    """Be verbose from now on, in this process and those that it starts, where that was asked for."""
    if wanted:
        os.environ[VERBOSE_VARIABLE] = "1"


@cache
def log_file() -> Path:
    """The file of this process, for its user's eyes only; it is there when this returns."""
    named = os.environ.get(LOGS_VARIABLE)
    wanted = Path(named) if named else Path.home() / ".cache" / "pulsar-backlog" / "logs"
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.getpid()}.log"
    for folder in (wanted, Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            os.close(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        except OSError:
            continue
        if folder == wanted:
            _forget_old(folder)
        return folder / name
    return Path(os.devnull)


def _forget_old(folder: Path) -> None:
    for old in sorted(folder.glob("*Z-*.log"))[:-MAX_LOG_FILES]:
        old.unlink(missing_ok=True)


@contextmanager
def log_stream() -> Iterator[IO[bytes] | None]:
    """The file, open for a process that is started in the block; None where it says all on standard error."""
    if is_verbose():
        yield None
        return
    with log_file().open("ab") as stream:
        yield stream


def log_messages() -> None:
    """Let what libraries log go to the file too, where nobody has given them another place."""
    root = logging.getLogger()
    if not root.handlers and not is_verbose():
        root.addHandler(logging.FileHandler(log_file(), delay=True, encoding="utf-8", errors="backslashreplace"))


def keep_trace(error: BaseException) -> str:
    """Write an exception's stack trace down, and say where, in words that end a sentence."""
    trace = visible_lines("".join(traceback.format_exception(error)))
    if is_verbose():
        sys.stderr.write(trace)
        return "the stack trace is above"
    with log_file().open("a", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(trace)
    return f"the stack trace is in {log_file()}"
