"""A process that runs tasks for the one that started it, and the server that becomes one by a fork.

    python -P -m pulsar_backlog.tasks.worker [MODULE ...]    # what tasks will import, once for all of them

Both end when nobody can ask them any more: the server's standard input is a socket to who started it, and a worker has
pipes, and ends soon after the server.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from pulsar_backlog.forgone_modules import LINEAR_ALGEBRA, forgoing

_LOOK_SECONDS = 1.0
PATIENCE_SECONDS = 0.5
"""How long a process whose pipes are closed may take to be gone."""

MESSAGE_BYTES = 8
FORK = bytes(MESSAGE_BYTES)
"""Asks the server for a worker, with two descriptors; any other message is the number of one, asking how it ended."""
STILL_THERE = 1 << 16
"""No exit code."""


def main() -> None:
    """Import, then become a worker for each pair of descriptors that comes; end when nobody can ask any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all of a terminal; who started this one ends it
    os.dup2(2, 1)  # what a library prints is no result of the program
    control = socket.socket(fileno=os.dup(0))
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # so that no worker holds on to the socket
    for name in sys.argv[1:]:
        with forgoing(LINEAR_ALGEBRA), suppress(Exception):  # a task that needs it says why it cannot be had
            import_module(name)
    gc.freeze()  # nothing of it ever goes
    warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside an allocator's thread, which knows of forks
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 2)
        if len(message) < MESSAGE_BYTES:
            return
        if message != FORK:
            control.sendall(message_of(_exit_code(number_of(message))))
        elif os.fork() == 0:
            control.close()
            _work(*descriptors)
            return
        else:
            for descriptor in descriptors:
                os.close(descriptor)


def _work(inbox: int, outbox: int) -> None:
    """Answer messages until there are no more, after one with the number of this process.

    A message is a pair: the bytes of a task, or None for the task before, and its input. The answer has a result, or an
    exception with its stack trace.
    """
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    with suppress(EOFError, BrokenPipeError), os.fdopen(inbox, "rb") as requests, os.fdopen(outbox, "wb") as answers:
        pickle.dump(os.getpid(), answers)
        answers.flush()
        _answer_all(requests, answers)


def _exit_code(worker: int) -> int:
    """How a worker ended, which it has or is about to; `STILL_THERE` if not."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        ended, status = os.waitpid(worker, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    return STILL_THERE


def message_of(number: int) -> bytes:
    """A number as the server is told and tells it."""
    return number.to_bytes(MESSAGE_BYTES, "big", signed=True)


def number_of(message: bytes) -> int:
    """The number of a message.

    Raises:
        OSError: it is cut short, for the server is gone.
    """
    if len(message) < MESSAGE_BYTES:
        raise OSError("the server is gone")
    return int.from_bytes(message, "big", signed=True)


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
