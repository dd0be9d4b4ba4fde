"""A process that runs tasks for the one that started it: messages on standard input, answers on standard output.

    python -P -m pulsar_backlog.tasks.worker

It ends when its standard input does, or soon after the process is gone that started it.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO

NEEDED = ("pyarrow.parquet", "pulsar_backlog.wire.kernel")
"""What nearly every task imports: while the first one is made."""
_LOOK_SECONDS = 1.0


def main() -> None:
    """Answer messages until there are no more.

    A message is a pair: the bytes of a task, or None for the task before, and its input. The answer has a result, or an
    exception with its stack trace.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all of a terminal; who started this one ends it
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    inbox, outbox = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    for name in NEEDED:
        with suppress(Exception):  # a task that needs it says why it cannot be had
            import_module(name)
    with suppress(EOFError, BrokenPipeError):
        _answer_all(inbox, outbox)


def _answer_all(inbox: BinaryIO, outbox: BinaryIO) -> None:
    """Answer message after message.

    Raises:
        EOFError: there are no more.
        BrokenPipeError: nobody reads the answers.
    """
    task: Any = None
    while True:
        task_bytes, given = pickle.load(inbox)  # noqa: S301 - of the process that started this one
        try:
            if task_bytes is not None:
                task = pickle.loads(task_bytes)  # noqa: S301 - as above
            answer = pickle.dumps((task(given), None, None))
        except Exception as error:
            answer = _failed(error)
        outbox.write(answer)
        outbox.flush()


def _failed(error: Exception) -> bytes:
    """The answer of a task that raised: its exception where pickle knows it, else one of its words."""
    trace = "".join(traceback.format_exception(error))
    try:
        answer = pickle.dumps((None, error, trace))
        pickle.loads(answer)  # noqa: S301 - our own bytes; many an exception cannot be made anew
    except Exception:
        answer = pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}"), trace))
    return answer


def _end_with(parent: int) -> None:
    """End this process when the one that started it is gone, whatever a task does."""
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main()
