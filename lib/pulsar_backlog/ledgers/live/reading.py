"""A range of a live ledger, entry by entry: what the broker sends, and what it hides, each id once and in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

from pulsar_backlog.ledgers.live.hidden import Asked, look_up
from pulsar_backlog.ledgers.live.values import NOT_GIVEN, NOT_SENT, Hidden
from pulsar_backlog.protocol.addresses import ClientError
from pulsar_backlog.protocol.connection import Connection
from pulsar_backlog.protocol.reader import Reader

QUIET_SECONDS = 1.0
"""So long without a message, the entry that should come next is looked at: it may be hidden."""
MAX_LOOKUPS = 10_000
"""Entries of one range that are looked at one by one; of the rest nothing is known."""
ATTEMPTS = 5
"""Connections that break one after the other without an entry between them."""
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
        timeout_seconds: how long a broker may be silent that has the next entry.
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

    def found(self) -> Iterator[tuple[int, bytes] | Hidden]:
        """Every entry: its id and bytes, or why it is not here. A broken connection is made again where it ended.

        Raises:
            ClientError: the broker does not let it read, or stopped to send.
        """
        following, failures = self.first, 0
        while following <= self.last:
            try:
                with closing(self.connect(self.topic)) as connection:
                    reader = Reader(connection, self.topic, (self.ledger_id, following - 1), self.permits)
                    for one in self._received(reader, following):
                        following, failures = following + 1, 0
                        yield one
            except ClientError as error:
                failures += 1
                if error.reason in _FINAL or failures == ATTEMPTS:
                    raise
                self.sleep(0.25 * 2**failures)

    def _received(self, reader: Reader, following: int) -> Iterator[tuple[int, bytes] | Hidden]:
        """From `following` on; its ids go up by one."""
        begin, silent_seconds, wait_seconds = following, 0.0, QUIET_SECONDS
        while following <= self.last:
            got = reader.next_within(wait_seconds)
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
            (ledger_id, entry_id), data = got
            if (ledger_id, entry_id) < (self.ledger_id, following):
                continue
            is_beyond = (ledger_id, entry_id) > (self.ledger_id, self.last)
            for missing in range(following, self.last + 1 if is_beyond else entry_id):
                one = self._look_up(missing)
                if is_beyond and missing == begin and one.code == NOT_GIVEN:
                    raise self._error("not_found", missing, "is not there any more: its ledger may be trimmed", one)
                yield one
            if is_beyond:
                return
            self.pace.spend(len(data))
            yield entry_id, data
            following = entry_id + 1

    def _error(self, reason: str, entry_id: int, said: str, one: Hidden) -> ClientError:
        return ClientError(self.topic, reason, f"entry {self.ledger_id}:{entry_id} {said} ({one.found})")

    def _look_up(self, entry_id: int) -> Hidden:
        self._lookups += 1
        if self._lookups > MAX_LOOKUPS:
            return Hidden(entry_id, NOT_GIVEN, f"one of more than {MAX_LOOKUPS} entries that were not sent")
        return look_up(self.asked, self.topic, self.ledger_id, entry_id)
