"""Processes of this machine, at most one for each core, that run tasks one after the other.

They are started when there is a task for each of them, and end with this process. Beside them there may be one for what
takes long to load, which begins to do so as soon as a core is idle.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from functools import cache
from queue import SimpleQueue
from threading import Lock, RLock
from typing import Any, TypeVar

from pulsar_backlog.interrupts import at_end
from pulsar_backlog.library_settings import LIBRARY_SETTINGS
from pulsar_backlog.logs import log_stream
from pulsar_backlog.tasks.beside import begin_all, do_all
from pulsar_backlog.tasks.cores import cores
from pulsar_backlog.tasks.shared import pickled_task
from pulsar_backlog.tasks.worker import FORK, MESSAGE_BYTES, PATIENCE_SECONDS, STILL_THERE, message_of, number_of

Input = TypeVar("Input")
Output = TypeVar("Output")

WORKER_DIED = "Python worker exited unexpectedly"
"""As Spark says it."""

_SETTINGS = LIBRARY_SETTINGS | {"MALLOC_TRIM_THRESHOLD_": str(256 << 20), "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}
"""Where the user says nothing. For glibc: what a batch gives back the next one takes, and the system clears none of it;
a scan takes 6 % less for 20 MB."""

_COMMAND = ("-P", "-m", "pulsar_backlog.tasks.worker")
_NEEDED = ("pyarrow.parquet", "pulsar_backlog.scanning.ready")
"""What most tasks import: once for all workers."""


class WorkerDeathError(RuntimeError):
    """A process that ran tasks was ended from outside."""


class TaskPool:
    """Runs tasks, one at a time in each of its processes.

    Attributes:
        cores: how many processes there are at most.
    """

    def __init__(self, cores: int) -> None:
        self.cores = cores
        self._server: _Server | None = None
        self._workers: list[_Worker] = []
        self._dedicated: dict[Callable[[None], object], _Worker] = {}
        self._lock = RLock()
        at_end(self.close)

    def start(self, tasks: int) -> None:
        """Begin to start the processes that so many tasks need; to import takes them a second."""
        missing = min(self.cores, tasks) - len(self._workers)
        if missing > 0:
            self._server = self._server or _Server(_NEEDED)
            self._workers += [_Worker(self._server) for _ in range(missing)]

    def start_dedicated(self, load: Callable[[None], object]) -> None:
        """Begin to start a process beside the others, whose first task is to load something; once."""
        with self._lock:
            if load not in self._dedicated:
                self._server = self._server or _Server(())
                self._dedicated[load] = _Worker(self._server)
                self._dedicated[load].send(pickled_task(load), None)

    def run_dedicated(self, load: Callable[[None], object], task: Callable[[Input], Output], given: Input) -> Output:
        """What a task gives in the process that loads this; for errors see `run`."""
        with self._lock:
            self.start_dedicated(load)
            worker = self._dedicated[load]
            worker.forget_task()
            try:
                worker.send(pickled_task(task), given)
                do_all()
                result: Output = worker.last_answer()
            except BaseException:
                self.close()  # so that no later task gets its answer
                raise
        return result

    def run(
        self,
        task: Callable[[Input], Output],
        inputs: Sequence[Input],
        done: Callable[[Output], None] = lambda _: None,
    ) -> list[Output]:
        """What a task gives for each input, in the order in which they are ready.

        Args:
            task: of a class or function that pickle finds by name; shared values go with it.
            inputs: each is handed to one process, once.
            done: called in this thread with each result.

        Raises:
            WorkerDeathError: a process was ended from outside.
            Exception: what a task raised, or its words as `RuntimeError` where pickle does not know it.
        """
        with self._lock:
            self.start(len(inputs))
            idle: SimpleQueue[_Worker] = SimpleQueue()
            for worker in self._workers:
                worker.forget_task()
                idle.put(worker)
            task_bytes = pickled_task(task)

            def run_one(given: Input) -> Output:
                worker = idle.get()
                try:
                    result: Output = worker.run(task_bytes, given)
                finally:
                    idle.put(worker)
                return result

            results: list[Output] = []
            threads = ThreadPoolExecutor(self.cores)
            try:
                futures = [threads.submit(run_one, given) for given in inputs]
                if inputs:
                    self._begin_others(len(inputs))
                for future in as_completed(futures):
                    results.append(future.result())
                    self._begin_others(len(inputs) - len(results))
                    done(results[-1])
            except BaseException:
                self.close()  # so that no thread waits for an answer
                raise
            finally:
                threads.shutdown(cancel_futures=True)
        return results

    def _begin_others(self, tasks_left: int) -> None:
        """Let what may be done beside tasks begin where a core has none."""
        if tasks_left < self.cores:
            begin_all()

    def close(self) -> None:
        """End the processes at once, whatever they do; the next run starts others."""
        workers = [*self._workers, *self._dedicated.values()]
        for worker in workers:
            worker.kill()
        if self._server is not None:
            self._server.kill()
        for worker in workers:
            worker.close()
        self._workers.clear()
        self._dedicated.clear()
        self._server = None


class _Server:
    """The process that imports what tasks need, once, and becomes a worker whenever it is asked to (by a fork)."""

    def __init__(self, needed: Sequence[str]) -> None:
        # It imports what this process imports, from where it does.
        environment = _SETTINGS | os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._control, theirs = socket.socketpair()
        self._lock = Lock()
        with log_stream() as stream, theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own, no shell
                [sys.executable, *_COMMAND, *needed], stdin=theirs.fileno(), stderr=stream, env=environment
            )

    def fork(self, inbox: int, outbox: int) -> None:
        """Have a worker that reads one descriptor and writes the other; soon, and where the server is gone never."""
        with suppress(OSError):
            socket.send_fds(self._control, [FORK], [inbox, outbox])

    def exit_code(self, pid: int | None) -> int | None:
        """How a worker ended, as `subprocess` says it, or the server before it; None where neither is known to have.

        Args:
            pid: of the worker; None where it never came to be.
        """
        if pid is not None:
            with self._lock, suppress(OSError):
                self._control.sendall(message_of(pid))
                code = number_of(self._control.recv(MESSAGE_BYTES, socket.MSG_WAITALL))
                return None if code == STILL_THERE else code
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE_SECONDS)
        return self._process.returncode  # its workers end with it

    def kill(self) -> None:
        """End it, and soon those who were forked."""
        self._process.kill()
        self._process.wait()
        self._control.close()


class _Worker:
    """One process that runs tasks."""

    def __init__(self, server: _Server) -> None:
        inbox, ours = os.pipe()
        theirs, outbox = os.pipe()
        server.fork(inbox, outbox)
        os.close(inbox)
        os.close(outbox)
        self._server = server
        self._inbox, self._outbox = os.fdopen(ours, "wb"), os.fdopen(theirs, "rb")
        self._has_task = False
        self._answers_due = 0
        self.pid: int | None = None  # it tells when it is there

    def forget_task(self) -> None:
        """Have the next task sent to it."""
        self._has_task = False

    def run(self, task_bytes: bytes, given: Any) -> Any:
        """What the task gives for an input, after what was sent before.

        Raises:
            WorkerDeathError: the process is gone.
            Exception: what the task raised, or one that was sent before.
        """
        self.send(task_bytes, given)
        return self.last_answer()

    def send(self, task_bytes: bytes, given: Any) -> None:
        """Have it begin with a task as soon as it can.

        Raises:
            WorkerDeathError: the process is gone.
        """
        with self._death_told():
            self._inbox.write(pickle.dumps((None if self._has_task else task_bytes, given)))
            self._inbox.flush()
        self._has_task = True
        self._answers_due += 1

    def last_answer(self) -> Any:
        """What the task gives that was sent last, once those before are done; for errors see `run`."""
        result = None
        while self._answers_due:
            result = self._answer()
        return result

    def _answer(self) -> Any:
        with self._death_told():
            if self.pid is None:
                self.pid = pickle.load(self._outbox)  # noqa: S301 - of a process that this one started
            result, error, trace = pickle.load(self._outbox)  # noqa: S301 - as above
        self._answers_due -= 1
        if error is not None:
            error.add_note(trace)
            raise error
        return result

    @contextmanager
    def _death_told(self) -> Iterator[None]:
        try:
            yield
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as broken:
            raise WorkerDeathError(f"{WORKER_DIED} ({self._ended()})") from broken

    def kill(self) -> None:
        """End it, while the server keeps its number for it; one that has not told its number ends with the server."""
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Let its pipes go, once it has ended: a thread may wait for what it says."""
        for pipe in (self._inbox, self._outbox):
            with suppress(OSError):
                pipe.close()

    def _ended(self) -> str:
        """How it ended, in words."""
        code = self._server.exit_code(self.pid)
        if code is None:
            return "its pipes are closed"
        self.pid = None  # another process may have it now
        with suppress(ValueError):
            return f"ended by {signal.Signals(-code).name}"
        return f"exit code {code}"


@cache
def own_pool() -> TaskPool:
    """The pool of this process."""
    return TaskPool(cores())
