"""A range of a live ledger: what the broker sends, and what it hides, each id once and in order.

| what happens | what becomes of the range |
|---|---|
| nothing comes, and internal statistics do not list the ledger any more | ends at once: `trimmed`, or `not_found` |
| nothing comes, and the admin API names what a broker hides | goes on behind the entry |
| nothing comes, and nothing explains it | ends when the broker's `Patience` does; at half of it on a new connection |
| the connection breaks, or there is none | is made again, as long |
| entries come slower than the least rate for as long | ends |
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Protocol

from pulsar_backlog.cluster.patience import Patience
from pulsar_backlog.ledgers.live.hidden import HeaderSource, look_up
from pulsar_backlog.ledgers.live.listed import Gone
from pulsar_backlog.ledgers.live.pace import Pace
from pulsar_backlog.ledgers.live.run_folder import RunFolder
from pulsar_backlog.ledgers.live.runs import Run, runs_of
from pulsar_backlog.ledgers.live.values import NOT_GIVEN, NOT_SENT, Hidden, Sent
from pulsar_backlog.protocol import frames
from pulsar_backlog.protocol.addresses import ClientError, NoConnectionError
from pulsar_backlog.protocol.connection import Connection, Messages
from pulsar_backlog.protocol.reader import Reader

FIRST_QUIET_SECONDS = 0.25
"""So long without a message, the broker is asked whether it still has the ledger."""
QUIET_SECONDS = 1.0
"""So long without a message, the entry that should come next is looked at: it may be hidden."""
MAX_LOOKUPS = 10_000
"""Entries of one range that are looked at one by one; of the rest nothing is known."""
MOST_WAIT_SECONDS = 8.0
_FINAL = ("permission_denied", "not_found", "trimmed")
"""Reasons that another attempt does not mend."""
_AGAIN_AND_AGAIN = "it is asked for nothing more in this run: several times it was waited for, and nothing came"
_FRAME_BYTES = 40
"""About what a frame has besides its entry."""


class Cluster(HeaderSource, Protocol):
    """The cluster as a range needs it."""

    def connect(self, topic: str, seconds: float) -> Connection:
        """A connection to the broker that serves a topic; raises `ClientError`."""

    def patience(self, topic: str) -> Patience:
        """With the broker that serves a topic, or with whom is asked for it."""

    def gone(self, topic: str, ledger_id: int, *, ask: bool) -> Gone | None:
        """Why a ledger is not there any more, as `ListedLedgers.gone` says it."""


@dataclass(frozen=True)
class Limits:
    """What bounds reading.

    Attributes:
        pace: bytes a second at most.
        least_rate: bytes a second at least, while nothing but the broker is waited for.
        permits: messages that the broker may send ahead.
    """

    pace: Pace
    least_rate: int
    permits: int


def _count(one: Sent | Hidden) -> int:
    return len(one) if isinstance(one, Sent) else 1


@dataclass
class Range:
    """A range of entries of one ledger.

    Attributes:
        cluster: that has it.
        run: what processes tell each other.
        limits: of reading.
        topic: full name.
        ledger_id: ledger.
        first: first entry id.
        last: last entry id; none behind it is looked at.
    """

    cluster: Cluster
    run: RunFolder
    limits: Limits
    topic: str
    ledger_id: int
    first: int
    last: int
    sleep: Callable[[float], None] = time.sleep
    _lookups: int = field(default=0, init=False)
    _since: float = field(default=0.0, init=False)
    _marked: float = field(default=0.0, init=False)
    _seconds: float = field(default=0.0, init=False)
    _attempts: int = field(default=0, init=False)
    _waited: float = field(default=0.0, init=False)
    _bytes: int = field(default=0, init=False)

    def stretches(self) -> Iterator[Sent | Hidden]:
        """Every entry, or why it is not here, in order. A broken connection is made again where it ended.

        Raises:
            ClientError: the broker does not let it read, does not have the ledger any more, or stopped to send.
        """
        following = self.first
        frames.compile_loop()
        self._begin_wait()
        try:
            while following <= self.last:
                self._check_gone(following, ask=False)
                self._seconds = self._seconds_left_in_run()
                try:
                    for one in self._of_connection(following):
                        following += _count(one)
                        yield one
                        self._begin_wait()  # whoever takes entries may take time, too
                except ClientError as error:
                    self._give_up_or_pause(error, following)
        finally:
            self.run.rests()

    def _begin_wait(self) -> None:
        """From now on the next entry is waited for."""
        self._attempts = 0
        self._since = self._marked = time.monotonic()

    def _seconds_left_in_run(self) -> float:
        """How long the next entry may be waited for.

        Raises:
            ClientError: nothing is asked of the broker any more.
        """
        patience = self.cluster.patience(self.topic)
        if closed := patience.closed:
            raise ClientError(patience.server, "unreachable", closed)
        return patience.seconds()

    def _remaining(self) -> float:
        return max(0.0, self._since + self._seconds - time.monotonic())

    def _of_connection(self, following: int) -> Iterator[Sent | Hidden]:
        with closing(self.cluster.connect(self.topic, self._remaining())) as connection:
            reader = Reader(connection, self.topic, (self.ledger_id, following - 1), self.limits.permits)
            connection.allow(self._seconds)
            yield from self._received(reader, following)

    def _received(self, reader: Reader, following: int) -> Iterator[Sent | Hidden]:
        """From `following` on; its ids go up by one. It may end before the last where a new connection is due."""
        begin, wait, quiet = following, FIRST_QUIET_SECONDS, 0
        while following <= self.last:
            if (got := reader.messages_within(wait, self.limits.least_rate)) is not None:
                before, wait, quiet = following, FIRST_QUIET_SECONDS, 0
                for one in self._of_messages(got, following, begin):
                    following += _count(one)
                    yield one
                self._check_progress(before, following)
                continue
            hidden = self._look_up(following)
            if hidden.code == NOT_GIVEN:
                self._check_gone(following, ask=True)
            wait, quiet = min(QUIET_SECONDS, self._remaining()), quiet + 1
            if quiet == 1:
                continue
            if hidden.code not in (NOT_SENT, NOT_GIVEN):
                yield hidden
                following, wait = following + 1, 0.0
            elif self._is_new_connection_due(following, hidden):  # the broker may only be slow
                return

    def _of_messages(self, got: Messages, following: int, begin: int) -> Iterator[Sent | Hidden]:
        """What came from `following` on."""
        self.cluster.patience(self.topic).answered()
        self._waited += time.monotonic() - self._marked
        self._bytes += got.buffer.size
        self._marked = time.monotonic()
        for run in runs_of(got):
            for one in self._of_run(got, run, following, begin):
                following += _count(one)
                yield one

    def _is_new_connection_due(self, following: int, one: Hidden) -> bool:
        """Whether half of the time is over: the connection may be dead without a word.

        Raises:
            ClientError: all of it is.
        """
        remaining = self._remaining()
        if remaining <= 0:
            raise self._error("unreachable", following, f"does not come in {self._seconds:.3g} s", one.found)
        self.run.waits(self._since, f"for entry {self.ledger_id}:{following} of {self.topic} ({one.found})")
        if self._attempts or remaining > self._seconds / 2:
            return False
        self._attempts = 1
        return True

    def _give_up_or_pause(self, error: ClientError, following: int) -> None:
        """Pause before the next attempt.

        Raises:
            ClientError: there is none.
        """
        self._attempts += 1
        remaining = self._remaining()
        if error.reason == "not_found":
            self._check_gone(following, ask=True)  # one reason for all ledgers of a topic
        patience = self.cluster.patience(self.topic)
        if error.reason in _FINAL or patience.closed:
            raise error
        pause = min(0.25 * 2**self._attempts, MOST_WAIT_SECONDS, self._seconds / 8)
        if error.reason != "slow" and remaining > pause:
            self.run.waits(self._since, f"for a connection to read {self.topic} ({error.detail})")
            self.sleep(pause)
            return
        is_gone = isinstance(error, NoConnectionError)
        if is_gone:
            detail = f"no connection for as long as an answer may take (--timeout-seconds): {error.detail}"
            error = ClientError(error.uri, "unreachable", detail)
        words = error.detail if is_gone else _AGAIN_AND_AGAIN
        patience.gave_up(time.monotonic() - self._since, words, is_gone=is_gone)
        raise error from None

    def _of_run(self, got: Messages, run: Run, following: int, begin: int) -> Iterator[Sent | Hidden]:
        """What a run brings from `following` on; first why those before it did not come."""
        is_beyond = (run.ledger_id, run.first) > (self.ledger_id, self.last)
        if following > self.last or (run.ledger_id, run.last) < (self.ledger_id, following):
            return  # known already
        for missing in range(following, self.last + 1 if is_beyond else run.first):
            one = self._look_up(missing)
            if is_beyond and one.code == NOT_GIVEN:
                self._check_gone(missing, ask=True)
            if is_beyond and missing == begin and one.code == NOT_GIVEN:
                raise self._error("not_found", missing, "is not there any more: its ledger may be trimmed", one.found)
            yield one
        if not is_beyond:
            sent = run.sent(got, max(following, run.first), min(self.last, run.last))
            self.run.read(sent.buffer.size)
            self.limits.pace.spend(sent.buffer.size + _FRAME_BYTES)
            yield sent

    def _check_progress(self, before: int, following: int) -> None:
        """Whether entries come, and fast enough: judged each time that as long was waited as a broker may take.

        Raises:
            ClientError: they do not.
        """
        if following == before and self._remaining() <= 0:
            raise self._error("unreachable", following, "does not come", "the broker sends only others")
        if self._waited < self._seconds or following > self.last:
            return
        rate, least = self._bytes / self._waited, self.limits.least_rate
        self._waited, self._bytes = 0.0, 0
        if rate < least:
            self._since = time.monotonic() - self._seconds  # so long this broker was waited for
            words = f"the broker sends {rate:,.0f} bytes a second, and {least:,} are the least (--min-rate)"
            raise ClientError(self.topic, "slow", words)

    def _check_gone(self, entry_id: int, *, ask: bool) -> None:
        if gone := self.cluster.gone(self.topic, self.ledger_id, ask=ask):
            raise self._error(gone.reason, entry_id, "is not there any more", gone.words)

    def _error(self, reason: str, entry_id: int, words: str, why: str) -> ClientError:
        return ClientError(self.topic, reason, f"entry {self.ledger_id}:{entry_id} {words} ({why})")

    def _look_up(self, entry_id: int) -> Hidden:
        self._lookups += 1
        if self._lookups > MAX_LOOKUPS:
            return Hidden(entry_id, NOT_GIVEN, f"one of more than {MAX_LOOKUPS} entries that were not sent")
        return look_up(self.cluster, self.topic, self.ledger_id, entry_id)
