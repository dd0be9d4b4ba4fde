"""A step of a stream done by several threads at once: order kept, and no more in memory than the threads work on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from pulsar_backlog.tasks.cores import cores

MOST_THREADS = 4
"""Reading and checking entries, which one thread does, takes a third to a half of what is done in all."""

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


def threads_here() -> int:
    """How many threads pay here: as many as this process may use cores."""
    return min(MOST_THREADS, cores())


def in_threads(make: Callable[[_Given], _Made], given: Iterator[_Given], threads: int) -> Iterator[_Made]:
    """`make` of each, in their order, by `threads` at once; with one thread when it is asked for.

    Nothing is taken ahead for the first one, so that who wants a few rows waits for no more. What `given` raises comes
    after everything that it gave before.
    """
    if threads < 2:
        yield from map(make, given)
        return
    waiting: deque[Future[_Made]] = deque()
    error: BaseException | None = None
    with ThreadPoolExecutor(threads, "decoding") as pool:
        try:
            ahead = 0
            while True:
                try:
                    waiting.append(pool.submit(make, next(given)))
                except StopIteration:
                    break
                except Exception as one:
                    error = one
                    break
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
                    ahead = min(ahead + 1, threads)
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
    if error is not None:
        raise error
