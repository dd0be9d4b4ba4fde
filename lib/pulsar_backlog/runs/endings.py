"""How a command ends: its exit code, and one sentence on standard error about what stopped it."""

from __future__ import annotations

import atexit
import gc
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pulsar_backlog.errors import CommitConflictError, DecodeError, SourceError, UsageError
from pulsar_backlog.foreign_text import MAX_SENTENCE, visible
from pulsar_backlog.interrupts import SENTENCE, is_heard, note_told
from pulsar_backlog.logs import keep_trace
from pulsar_backlog.spark.deaths import death_words, headline, words_of
from pulsar_backlog.spark.mismatches import mismatch_words
from pulsar_backlog.spark.scratch import scratch_folders
from pulsar_backlog.tableio.places import local_out, lost_file
from pulsar_backlog.terms import EXIT_FAILED, EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_USAGE

_STAYS = "what was committed stays"

_FULL = ("No space left on device", "Disk quota exceeded", "File too large")
_LOST_FILE = re.compile(r"\[(FAILED_READ_FILE\.\w+)\].*? file (?:file:)?(\S+/tables/\w+/\S+?\.parquet)")
"""What Spark says of a file of a table that it cannot read."""
_NO_MEMORY = "OutOfMemoryError"
_GARBAGE = (100_000, 50, 20)
"""When Python looks for circles of unused objects. What jobs hold of ten thousand topics are millions of objects
without any: to look at them as often as Python does otherwise takes a quarter of an inventory's time."""
_CONFLICTS = "delta.exceptions"
"""Module of Delta's Python exceptions, all of which say that another writer came first."""


def ending(who: str, run: Callable[[], int]) -> int:
    """What `run` returns; what it raises becomes one sentence on standard error, and its exit code.

    Args:
        who: the command, as its user would name it.
        run: all that it does.
    """
    _end_quickly()
    gc.set_threshold(*_GARBAGE)
    try:
        return run()
    except (Exception, KeyboardInterrupt) as error:
        code, words = outcome_of(error)
        if code == EXIT_INTERRUPTED:
            note_told()
        if code == EXIT_FAILED:  # a fault of the program or the cluster, not of the user
            words = f"{words}{', and' if words.endswith(_STAYS) else ';'} {keep_trace(error)}"
        sys.stderr.write(f"{who}: {visible(words, MAX_SENTENCE)}\n")
        return code


def outcome_of(error: BaseException) -> tuple[int, str]:
    """The exit code that an exception asks for, and one sentence of it."""
    if is_heard() or is_interrupt(error):  # a module in C that is being loaded hides it
        return EXIT_INTERRUPTED, SENTENCE
    if isinstance(error, UsageError):
        return EXIT_USAGE, str(error)
    if isinstance(error, SourceError | DecodeError):
        return EXIT_INCOMPLETE, str(error)
    return EXIT_FAILED, death_words(list(_chain(error))) or f"stopped by {headline(error)}; {_STAYS}"


def _end_quickly() -> None:
    """Let Python not look for garbage when it ends: after an audit it takes a second, and the memory goes anyway."""
    atexit.unregister(gc.freeze)  # once, however many commands this process runs
    atexit.register(gc.freeze)


def is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C is behind an exception: what cleans up afterwards may fail in its turn."""
    return any(isinstance(one, KeyboardInterrupt) for one in _chain(error))


@contextmanager
def environment_faults_as_usage_errors(*places: str | None) -> Iterator[None]:
    """Let faults of the environment leave the block as what a user can mend.

    Args:
        places: the folders or addresses that the block writes to.

    Raises:
        UsageError: the disk is full, memory was not enough, a file of a table is gone, another run wrote to the same
            tables, or a cluster runs another Spark or Python than the driver.
    """
    try:
        yield
    except Exception as error:
        if is_interrupt(error):
            raise
        words = _environment_words(error, [place for place in places if place])
        if words is None:
            raise
        raise UsageError(words) from error


def _environment_words(error: BaseException, places: list[str]) -> str | None:
    chain = list(_chain(error))
    if any(isinstance(one, CommitConflictError) or type(one).__module__.startswith(_CONFLICTS) for one in chain):
        return (
            f"another run wrote to the tables in {' or '.join(places)} at the same time, and Delta accepted only "
            "the first write: wait until the other run ends, then start this command again"
        )
    if any(_NO_MEMORY in words_of(one) for one in chain):
        return (
            "Java's memory was not enough; what was committed stays. Give it more, as spark.driver.memory (on a "
            "cluster spark.executor.memory) under `spark:` of the pipeline in a file for --config, or to spark-submit "
            "as --driver-memory or --executor-memory, then start the same command again"
        )
    if mismatch := mismatch_words(chain):
        return mismatch
    if lost := next((match for one in chain if (match := _LOST_FILE.search(words_of(one)))), None):
        return str(lost_file(lost[2], lost[1]))
    if any(sign in words_of(one) for one in chain for sign in _FULL):
        return (
            f"a disk is full; what was committed stays. Left are {_room(places)}: make room there, then start the same "
            "command again, or choose another --out (SPARK_LOCAL_DIRS moves what Spark keeps for a while)"
        )
    return None


def _room(places: list[str]) -> str:
    """What is left on each disk that a command writes to."""
    outs = (folder for place in places if (folder := local_out(place)))
    folders = dict.fromkeys([*outs, *map(Path, scratch_folders())])
    rooms = []
    for folder in folders:
        with suppress(OSError):
            rooms.append(f"{shutil.disk_usage(folder).free / 1e6:,.1f} MB for {folder}")
    return ", ".join(rooms)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception, and those that it came from or came in the handling of."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [one.__cause__, one.__context__]
