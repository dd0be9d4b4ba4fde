"""Processes of this machine, at most one for each core, that run tasks one after the other.

They are started when there is a task for each of them, and end with this process.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import cache
from queue import SimpleQueue
from threading import Lock
from typing import Any, TypeVar

from pulsar_backlog.interrupts import at_end
from pulsar_backlog.logs import log_stream
from pulsar_backlog.tasks.beside import begin_all
from pulsar_backlog.tasks.cores import cores
from pulsar_backlog.tasks.shared import pickled_task

Input = TypeVar("Input")
Output = TypeVar("Output")

WORKER_DIED = "Python worker exited unexpectedly"
"""As Spark says it."""

_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(256 << 20), "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}
"""For glibc, where the user says nothing: what a batch gives back the next one takes, and the system clears none of it.
A scan takes 6 % less for 20 MB."""

_COMMAND = ("-P", "-m", "pulsar_backlog.tasks.worker")


class WorkerDeathError(RuntimeError):
    """A process that ran tasks was ended from outside."""


class TaskPool:
    """Runs tasks, one at a time in each of its processes.

    Attributes:
        cores: how many processes there are at most.
    """

    def __init__(self, cores: int) -> None:
        self.cores = cores
        self._workers: list[_Worker] = []
        self._lock = Lock()
        at_end(self.close)

    def start(self, tasks: int) -> None:
        """Start the processes that so many tasks need, which take a while to import what tasks need."""
        is_first = not self._workers
        self._workers += [_Worker() for _ in range(min(self.cores, tasks) - len(self._workers))]
        if is_first and self._workers:
            begin_all()

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
                for future in as_completed([threads.submit(run_one, given) for given in inputs]):
                    results.append(future.result())
                    done(results[-1])
            except BaseException:
                self.close()  # so that no thread waits for an answer
                raise
            finally:
                threads.shutdown(cancel_futures=True)
        return results

    def close(self) -> None:
        """End the processes at once, whatever they do; the next run starts others."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()


class _Worker:
    """One process."""

    def __init__(self) -> None:
        # It imports what this process imports, from where it does.
        environment = _MEMORY | os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with log_stream() as stream:
            self._process = subprocess.Popen(  # noqa: S603 - our own, no shell
                [sys.executable, *_COMMAND],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                env=environment,
            )
        self._has_task = False

    def forget_task(self) -> None:
        """Have the next task sent to it."""
        self._has_task = False

    def run(self, task_bytes: bytes, given: Any) -> Any:
        """What the task gives for an input.

        Raises:
            WorkerDeathError: the process is gone.
            Exception: what the task raised.
        """
        inbox, outbox = self._process.stdin, self._process.stdout
        if inbox is None or outbox is None:
            raise TypeError("a worker without pipes")
        try:
            inbox.write(pickle.dumps((None if self._has_task else task_bytes, given)))
            inbox.flush()
            result, error, trace = pickle.load(outbox)  # noqa: S301 - of a process that this one started
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as broken:
            raise WorkerDeathError(f"{WORKER_DIED} ({self._ended()})") from broken
        self._has_task = True
        if error is not None:
            error.add_note(trace)
            raise error
        return result

    def kill(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _ended(self) -> str:
        """How it ended, in words."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)  # its pipes close before it is gone
        code = self._process.returncode
        if code is None:
            return "its pipes are closed"
        with suppress(ValueError):
            return f"ended by {signal.Signals(-code).name}"
        return f"exit code {code}"


@cache
def own_pool() -> TaskPool:
    """The pool of this process."""
    return TaskPool(cores())
