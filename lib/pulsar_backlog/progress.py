"""Progress of long work: bytes, rate and time left; a live bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pulsar_backlog.foreign_text import visible
from pulsar_backlog.terminal import terminal

POLL_SECONDS = 0.5
LINE_SECONDS = 10.0
"""How often a line is printed where there is no terminal; work shorter than that prints none."""


_MEGABYTE = 1_000_000
MAX_WAIT_WORDS = 300
"""Characters of what is waited for: topics have long names."""


class Progress:
    """One piece of work of known size, watched from a thread of its own."""

    def __init__(self, label: str, total_bytes: int, show: Callable[[int], None]) -> None:
        self.label = label
        self.total_bytes = total_bytes
        self._show = show
        self._before = 0

    @contextmanager
    def watch(self, done_bytes: Callable[[], int]) -> Iterator[None]:
        """Show `done_bytes()` while the block runs; blocks one after the other add up."""
        try:
            with _every(POLL_SECONDS, lambda: self._show(self._before + done_bytes())):
                yield
        finally:
            self._before += done_bytes()
            self._show(self._before)


class Meter:
    """Bytes that tasks of this machine have done, told while they run: a sparse file of each process is as long."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._done = 0

    def add(self, done_bytes: int) -> None:
        """Called by tasks; each process has its own copy of this."""
        self._done += done_bytes
        with (self._folder / str(os.getpid())).open("ab") as file:
            file.truncate(self._done)

    def total(self) -> int:
        """Called by who waits for them."""
        return sum(file.stat().st_size for file in self._folder.iterdir())


@contextmanager
def progress(label: str, total_bytes: int) -> Iterator[Progress]:
    """Progress on standard error, so that standard output stays the result's."""
    console = terminal(stderr=True)
    if not console.is_terminal:
        yield Progress(label, total_bytes, _line_printer(label, total_bytes))
        return
    from rich import progress as bars  # noqa: PLC0415 - where a bar is drawn

    columns = (
        bars.TextColumn("{task.description}"), bars.BarColumn(), bars.DownloadColumn(), bars.TransferSpeedColumn(),
        bars.TimeRemainingColumn(),
    )  # fmt: skip
    with bars.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=total_bytes)
        yield Progress(label, total_bytes, lambda done: bar.update(task, completed=done))


@contextmanager
def elapsing(label: str) -> Iterator[None]:
    """A line now and then with the time that work of unknown size has taken; lines only, which nothing wipes away."""
    began = time.monotonic()
    with _every(LINE_SECONDS, lambda: sys.stderr.write(f"{label}: {time.monotonic() - began:,.0f} s so far\n")):
        yield


@contextmanager
def saying_waits(label: str, wait: Callable[[], str | None]) -> Iterator[None]:
    """A line now and then with what is waited for, in words, as long as anything is."""

    def say() -> None:
        if (words := wait()) is not None:
            sys.stderr.write(f"{label}: {visible(words, MAX_WAIT_WORDS)}\n")

    with _every(LINE_SECONDS, say):
        yield


@contextmanager
def _every(seconds: float, do: Callable[[], object]) -> Iterator[None]:
    """Do something again and again, beside the block, until it ends."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            do()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def counting(label: str, total: int) -> Iterator[Callable[[], None]]:
    """Progress of work whose pieces are counted; what it yields is called after each of them."""
    console = terminal(stderr=True)
    done = 0
    if console.is_terminal:
        from rich import progress as bars  # noqa: PLC0415 - where a bar is drawn

        columns = (
            bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn(),
            bars.TimeRemainingColumn(),
        )  # fmt: skip
        with bars.Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(label, total=total)
            yield lambda: bar.advance(task)
        return
    began = last = time.monotonic()

    def advance() -> None:
        nonlocal done, last
        done += 1
        at = time.monotonic()
        if at - last >= LINE_SECONDS:
            last = at
            remaining = (total - done) * (at - began) / done
            print(f"{label}: {done:,} of {total:,}, {remaining:,.0f} s left", file=sys.stderr)  # noqa: T201

    yield advance


def _line_printer(label: str, total_bytes: int) -> Callable[[int], None]:
    began = last = time.monotonic()

    def show(done: int) -> None:
        nonlocal last
        at = time.monotonic()
        if at - last < LINE_SECONDS or not done:
            return
        last = at
        rate = done / (at - began)
        rest = max(total_bytes - done, 0) / rate
        speed = f"{rate / 1e6:,.0f} MB/s" if rate >= _MEGABYTE else f"{rate / 1e3:,.1f} kB/s"
        print(  # noqa: T201
            f"{label}: {done / 1e6:,.0f} of {total_bytes / 1e6:,.0f} MB, {speed}, {rest:,.0f} s left", file=sys.stderr
        )

    return show
