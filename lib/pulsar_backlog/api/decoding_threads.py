"""A step of a stream done by several threads at once: order kept, and no more in memory than the threads work on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Condition, Lock
from typing import Generic, TypeVar

from pulsar_backlog.tasks.cores import cores

MOST_THREADS = 4
"""Reading and checking entries, which one thread does at a time, takes a third to a half of what is done in all."""

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


def threads_here() -> int:
    """How many threads pay here: as many as this process may use cores."""
    return min(MOST_THREADS, cores())


def in_threads(make: Callable[[_Given], _Made], given: Iterator[_Given], threads: int) -> Iterator[_Made]:
    """`make` of each, in their order, by `threads` at once; with one thread when it is asked for.

    The threads also take what is given, one of them at a time, so that who uses the results waits for neither. Nothing
    is taken ahead for the first one, so that who wants a few rows waits for no more. What `given` raises comes after
    everything that it gave before.
    """
    if threads < 2:
        yield from map(make, given)
        return
    turns = _Turns(given)
    waiting: deque[Future[list[_Made]]] = deque()

    def work(number: int) -> list[_Made]:
        return [make(one) for one in turns.take(number)]

    with ThreadPoolExecutor(threads, "decoding") as pool:
        try:
            ahead = number = 0
            while True:
                while len(waiting) <= ahead:
                    waiting.append(pool.submit(work, number))
                    number += 1
                made = waiting.popleft().result()
                if not made:
                    break
                yield from made
                ahead = min(ahead + 1, threads)
        finally:
            turns.end()
            for future in waiting:
                future.cancel()


def one_at_a_time(given: Iterator[_Given], turn: Lock) -> Iterator[_Given]:
    """The same; each is made while nobody else has the turn."""
    while True:
        with turn:
            try:
                one = next(given)
            except StopIteration:
                return
        yield one


class _Turns(Generic[_Given]):
    """A stream that several threads take from, each at its turn."""

    def __init__(self, given: Iterator[_Given]) -> None:
        self._given = given
        self._next = 0
        self._ended = False
        self._turn = Condition()

    def take(self, number: int) -> list[_Given]:
        """What is given at this turn, empty after the last one; all turns before must be taken or being taken."""
        with self._turn:
            self._turn.wait_for(lambda: self._ended or self._next == number)
            if self._ended:
                return []
            self._ended = True  # unless something is given
            try:
                one = next(self._given)
            except StopIteration:
                return []
            else:
                self._ended = False
                return [one]
            finally:
                self._next += 1
                self._turn.notify_all()

    def end(self) -> None:
        """Nothing is taken any more; waits for who takes now."""
        with self._turn:
            self._ended = True
            self._turn.notify_all()
