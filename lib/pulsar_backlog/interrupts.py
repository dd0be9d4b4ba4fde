"""Ctrl-C ends the program within two seconds, with one sentence, whatever it is doing.

What is under way may not end so soon by itself: a thread that awaits a store's answer, a clean-up. Nothing that was
finished is lost by that, as by a kill.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import time

TYPE_CHECKING = False  # typing itself takes a tenth of the time until Ctrl-C is heard
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

SENTENCE = "stopped by Ctrl-C; what was finished stays"
LIMIT_SECONDS = 1.5
"""From Ctrl-C to the end, if it does not come sooner."""

_cleanups: list[Callable[[], object]] = []
_has_limit = False
_is_heard = False
_is_told = False


def end_at_once() -> None:
    """Let Ctrl-C end this process at once: it has not begun yet, or is done."""
    signal.signal(signal.SIGINT, lambda *_: _end())


def end_soon() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt`, and end this process if that does not."""
    global _has_limit  # noqa: PLW0603 - of the process, as signals are
    _has_limit = True
    signal.signal(signal.SIGINT, interrupt)


def run_process(run: Callable[[], object]) -> NoReturn:
    """Run all that this process is for, and end it with the exit code that it returns or leaves with."""
    from pulsar_backlog.terms import EXIT_INTERRUPTED  # noqa: PLC0415 - not before Ctrl-C is heard

    end_soon()
    code: object = 1
    try:
        code = run()
    except SystemExit as ended:  # about the command line
        code = ended.code
    if code == EXIT_INTERRUPTED:
        leave()
    end_at_once()
    sys.exit(code)  # type: ignore[arg-type]


def interrupt(*_: object) -> NoReturn:
    """Handler of Ctrl-C.

    Raises:
        KeyboardInterrupt: always.
    """
    global _is_heard  # noqa: PLW0603 - of the process, as signals are
    if _has_limit:
        _is_heard = True
        _thread.start_new_thread(_end_later, ())  # threading's own locks may be held by who is interrupted
    raise KeyboardInterrupt


def is_heard() -> bool:
    """Whether Ctrl-C is ending this process: what is raised from then on comes of it."""
    return _is_heard


def at_end(clean_up: Callable[[], object]) -> None:
    """Have something done when this process ends, by Ctrl-C too; soon done, and with no exceptions."""
    atexit.register(clean_up)
    _cleanups.append(clean_up)


def leave() -> NoReturn:
    """End this process, which Ctrl-C stopped, without a wait for threads."""
    sys.stdout.flush()
    sys.stderr.flush()
    atexit._run_exitfuncs()
    _end()


def note_told() -> None:
    """The user has the sentence."""
    global _is_told  # noqa: PLW0603 - as above
    _is_told = True


def _end_later() -> None:
    time.sleep(LIMIT_SECONDS)
    _end()


def _end() -> NoReturn:
    from pulsar_backlog.terms import EXIT_INTERRUPTED  # noqa: PLC0415 - not before Ctrl-C is heard

    if not _is_told:
        os.write(2, f"pulsar-backlog: {SENTENCE}\n".encode())
    for clean_up in _cleanups:
        clean_up()
    os._exit(EXIT_INTERRUPTED)
