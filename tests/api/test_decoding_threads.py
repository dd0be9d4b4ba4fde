"""A step of a stream in threads: the same as without them, in order, and not much ahead of who takes it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from pulsar_backlog.api.decoding_threads import in_threads, one_at_a_time

THREADS = (1, 2, 4)


@pytest.mark.parametrize("threads", THREADS)
def test_results_are_in_order_however_long_each_takes(threads: int) -> None:
    def slow(number: int) -> int:
        time.sleep(0.004 * (number % 3 == 0))
        return -number

    assert [*in_threads(slow, iter(range(40)), threads)] == [-number for number in range(40)]
    assert [*in_threads(slow, iter(()), threads)] == []


@pytest.mark.parametrize("threads", THREADS)
def test_an_error_of_the_stream_comes_after_what_it_gave(threads: int) -> None:
    def given() -> Iterator[int]:
        yield from range(7)
        raise OSError("gone")

    made = []
    with pytest.raises(OSError, match="gone"):
        for one in in_threads(str, given(), threads):
            made.append(one)
    assert made == [*"0123456"]


@pytest.mark.parametrize("threads", THREADS)
def test_an_error_of_the_step_comes_at_its_place(threads: int) -> None:
    made = []
    with pytest.raises(ZeroDivisionError):
        for one in in_threads(lambda number: 12 // number, iter([1, 2, 0, 3]), threads):
            made.append(one)
    assert made == [12, 6]


@pytest.mark.parametrize("threads", THREADS)
def test_no_more_is_taken_ahead_than_threads_work_on(threads: int) -> None:
    taken = 0

    def given() -> Iterator[int]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield number

    stream = in_threads(str, given(), threads)
    ahead = []
    for number, _ in enumerate(stream):
        ahead.append(taken - number - 1)
        if number == 50:
            break
    assert ahead[0] == 0  # who wants one row waits for one batch
    assert max(ahead) <= (0 if threads == 1 else threads)
    deadline = time.monotonic() + 30
    while threads > 1 and taken < 51 + threads and time.monotonic() < deadline:
        time.sleep(0.001)
    assert taken == 51 + (threads if threads > 1 else 0)


def test_two_are_worked_on_at_once() -> None:
    both = threading.Barrier(2)

    def meet(number: int) -> int:
        if number in (3, 4):
            both.wait(timeout=30)
        return number

    assert [*in_threads(meet, iter(range(6)), 2)] == [*range(6)]


def test_threads_end_with_the_stream() -> None:
    before = threading.active_count()
    stream = in_threads(str, iter(range(100)), 4)
    assert [next(stream) for _ in range(9)] == [*"012345678"]
    assert threading.active_count() > before
    stream.close()  # type: ignore[attr-defined]  # a generator, as readers of record batches close it
    assert threading.active_count() == before


@pytest.mark.parametrize("threads", THREADS[1:])
def test_who_uses_results_does_not_read_what_comes_next(threads: int) -> None:
    readers = set()

    def given() -> Iterator[int]:
        for number in range(20):
            readers.add(threading.get_ident())
            yield number

    assert [*in_threads(str, given(), threads)] == [str(number) for number in range(20)]
    assert threading.get_ident() not in readers


@pytest.mark.parametrize("threads", THREADS[1:])
def test_a_stream_that_is_left_ends_whatever_its_threads_are_at(threads: int) -> None:
    def given() -> Iterator[int]:
        for number in range(100):
            time.sleep(0.0005)
            yield number

    for taken in range(12):
        stream = in_threads(str, given(), threads)
        assert [next(stream) for _ in range(taken)] == [str(number) for number in range(taken)]
        stream.close()  # type: ignore[attr-defined]


def test_nothing_is_taken_after_an_error_of_the_stream() -> None:
    class Broken(Iterator[int]):
        asked = 0

        def __next__(self) -> int:
            self.asked += 1
            if self.asked == 7:
                raise OSError("gone")
            return self.asked

    given, made = Broken(), []
    with pytest.raises(OSError, match="gone"):
        for one in in_threads(str, given, 4):
            time.sleep(0.02)  # all that is taken ahead is taken meanwhile
            made.append(one)
    assert (made, given.asked) == ([*"123456"], 7)


def test_one_at_a_time_is_made() -> None:
    turn, inside, most = threading.Lock(), 0, 0

    def given() -> Iterator[int]:
        nonlocal inside, most
        for number in range(20):
            inside += 1
            most = max(most, inside)
            time.sleep(0.0005)
            inside -= 1
            yield number

    def take() -> list[int]:
        return [*one_at_a_time(given(), turn)]

    with ThreadPoolExecutor(4) as pool:
        taken = [*pool.map(lambda _: take(), range(4))]
    assert taken == [[*range(20)]] * 4
    assert most == 1
    assert not turn.locked()


def test_an_error_gives_the_turn_back() -> None:
    turn = threading.Lock()
    with pytest.raises(ZeroDivisionError):
        next(one_at_a_time((1 // number for number in (0,)), turn))
    assert not turn.locked()
