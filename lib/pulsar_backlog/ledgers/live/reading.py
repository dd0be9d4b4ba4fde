"""A range of a live ledger: what the broker sends, and what it hides, each id once and in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np

from pulsar_backlog.ledgers.live.hidden import Asked, look_up
from pulsar_backlog.ledgers.live.values import NOT_GIVEN, NOT_SENT, Hidden, Sent
from pulsar_backlog.protocol import frames
from pulsar_backlog.protocol.addresses import ClientError
from pulsar_backlog.protocol.connection import Connection, Messages
from pulsar_backlog.protocol.reader import Reader

QUIET_SECONDS = 1.0
"""So long without a message, the entry that should come next is looked at: it may be hidden."""
MAX_LOOKUPS = 10_000
"""Entries of one range that are looked at one by one; of the rest nothing is known."""
ATTEMPTS = 5
"""Connections that break one after the other without an entry between them, at least: a broker that starts again is
waited for as long as one that is silent."""
MOST_WAIT_SECONDS = 8.0
_FINAL = ("permission_denied", "not_found")
"""Reasons that another attempt does not mend."""


class Pace:
    """A limit on bytes a second."""

    def __init__(
        self, rate: int, now: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._rate, self._now, self._sleep = rate, now, sleep
        self._free_at = 0.0
        self._lock = threading.Lock()

    def spend(self, size: int) -> None:
        """Wait until that many more bytes are within the limit."""
        with self._lock:
            now = self._now()
            self._free_at = max(self._free_at, now) + size / self._rate
            ahead = self._free_at - now
        if ahead > 0:
            self._sleep(ahead)


@dataclass(frozen=True)
class Run:
    """Messages that came together and whose positions follow one another: from which one of those that came on."""

    at: int
    ledger_id: int
    first: int
    last: int

    def sent(self, got: Messages, first: int, last: int) -> Sent:
        """The entries of the run with these ids."""
        found = got.found[:, self.at + first - self.first : self.at + last + 1 - self.first]
        begin = int(found[frames.PLACE, 0])
        end = int(found[frames.PLACE, -1] + found[frames.LENGTH, -1])
        return Sent(first, got.buffer[begin:end], found[frames.PLACE] - begin, found[frames.LENGTH])


def _runs(got: Messages) -> Iterator[Run]:
    ledgers, entries = got.found[frames.LEDGER], got.found[frames.ENTRY]
    breaks = np.flatnonzero((np.diff(ledgers) != 0) | (np.diff(entries) != 1)) + 1
    starts, ends = [0, *breaks.tolist()], [*breaks.tolist(), len(entries)]
    for start, end in zip(starts, ends, strict=True):
        yield Run(start, int(ledgers[start]), int(entries[start]), int(entries[end - 1]))


def _count(one: Sent | Hidden) -> int:
    return len(one) if isinstance(one, Sent) else 1


@dataclass
class Range:
    """A range of entries of one ledger.

    Attributes:
        connect: opens a connection to the broker that serves a topic.
        asked: who knows hidden entries.
        pace: limit of reading.
        topic: full name.
        ledger_id: ledger.
        first: first entry id.
        last: last entry id; none behind it is looked at.
        permits: messages that the broker may send ahead.
        timeout_seconds: how long a broker may be silent that has the next entry, or take no connection.
    """

    connect: Callable[[str], Connection]
    asked: Asked
    pace: Pace
    topic: str
    ledger_id: int
    first: int
    last: int
    permits: int
    timeout_seconds: float
    sleep: Callable[[float], None] = time.sleep
    _lookups: int = field(default=0, init=False)

    def found(self) -> Iterator[Sent | Hidden]:
        """Every entry, or why it is not here, in order. A broken connection is made again where it ended.

        Raises:
            ClientError: the broker does not let it read, or stopped to send.
        """
        following, failures, since = self.first, 0, time.monotonic()
        while following <= self.last:
            try:
                with closing(self.connect(self.topic)) as connection:
                    reader = Reader(connection, self.topic, (self.ledger_id, following - 1), self.permits)
                    for one in self._received(reader, following):
                        following, failures = following + _count(one), 0
                        yield one
                        since = time.monotonic()  # whoever takes entries may take time, too
            except ClientError as error:
                failures += 1
                is_over = failures >= ATTEMPTS and time.monotonic() - since >= self.timeout_seconds
                if error.reason in _FINAL or is_over:
                    raise
                self.sleep(min(0.25 * 2**failures, MOST_WAIT_SECONDS))

    def _received(self, reader: Reader, following: int) -> Iterator[Sent | Hidden]:
        """From `following` on; its ids go up by one."""
        begin, silent_seconds, wait_seconds = following, 0.0, QUIET_SECONDS
        while following <= self.last:
            got = reader.messages_within(wait_seconds)
            if got is None:
                one = self._look_up(following)
                if one.code in (NOT_SENT, NOT_GIVEN):  # the broker may only be slow
                    silent_seconds, wait_seconds = silent_seconds + wait_seconds, QUIET_SECONDS
                    if silent_seconds < self.timeout_seconds:
                        continue
                    raise self._error("unreachable", following, f"does not come in {silent_seconds:g} s", one)
                yield one
                following, wait_seconds = following + 1, 0.0
                continue
            silent_seconds, wait_seconds = 0.0, QUIET_SECONDS
            for run in _runs(got):
                for found in self._of_run(got, run, following, begin):
                    following += _count(found)
                    yield found

    def _of_run(self, got: Messages, run: Run, following: int, begin: int) -> Iterator[Sent | Hidden]:
        """What a run brings from `following` on; first why those before it did not come."""
        is_beyond = (run.ledger_id, run.first) > (self.ledger_id, self.last)
        if following > self.last or (run.ledger_id, run.last) < (self.ledger_id, following):
            return  # known already
        for missing in range(following, self.last + 1 if is_beyond else run.first):
            one = self._look_up(missing)
            if is_beyond and missing == begin and one.code == NOT_GIVEN:
                raise self._error("not_found", missing, "is not there any more: its ledger may be trimmed", one)
            yield one
        if not is_beyond:
            sent = run.sent(got, max(following, run.first), min(self.last, run.last))
            self.pace.spend(int(sent.length.sum()))
            yield sent

    def _error(self, reason: str, entry_id: int, said: str, one: Hidden) -> ClientError:
        return ClientError(self.topic, reason, f"entry {self.ledger_id}:{entry_id} {said} ({one.found})")

    def _look_up(self, entry_id: int) -> Hidden:
        self._lookups += 1
        if self._lookups > MAX_LOOKUPS:
            return Hidden(entry_id, NOT_GIVEN, f"one of more than {MAX_LOOKUPS} entries that were not sent")
        return look_up(self.asked, self.topic, self.ledger_id, entry_id)
