"""A consumer at work: broker, clock, application and client together, one entry after the other.

The application acknowledges every message it gets. The log is offered in position order; nothing is kept of it but what
the cursor keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pulsar_backlog.chunks.clients.context import Contexts
from pulsar_backlog.chunks.clients.dispatch import SharedDispatch
from pulsar_backlog.chunks.clients.events import (
    NEVER,
    BrokenClientError,
    Cursor,
    DamageKind,
    HoleReason,
    LogEntry,
    Publication,
)  # fmt: skip
from pulsar_backlog.chunks.clients.families import CLIENTS
from pulsar_backlog.chunks.clients.permits import Permits
from pulsar_backlog.chunks.clients.settings import ClientSettings
from pulsar_backlog.chunks.clients.whole_messages import WholeMessages
from pulsar_backlog.terms import Position

RECONNECT_MS = 140
"""How soon a Java client that lost its connection to an exception of its own is back: about 7 times a second."""


@dataclass(frozen=True)
class Damage:
    """What the log does to the client.

    Attributes:
        kind: what happens.
        position: the entry at which it happens; for stalls the first that does not come.
        publication: what it belongs to; its uuid is empty when that is no chunked message.
        why: the cause in words.
    """

    kind: DamageKind
    position: Position
    publication: Publication
    why: str


class Session:
    """One consumer reading one topic partition.

    Attributes:
        deliver, acknowledge: see `Inbox`; the cursor's own.
        damage: what the log does to the client, once it did.
        permits_kept: permits the client did not give back, over all connections.
    """

    def __init__(self, settings: ClientSettings, cursor: Cursor, connected_ms: int = 0) -> None:
        """Connect.

        Args:
            settings: whose behaviour.
            cursor: what keeps the account.
            connected_ms: when the consumer connects. A live one takes each entry when it is stored, if that is
                later; one that catches up takes all of them now.
        """
        self._settings = settings
        self._cursor = cursor
        self.deliver = cursor.deliver
        self.acknowledge = cursor.acknowledge
        self._connected_ms = connected_ms
        self._live = settings.live
        self._start = settings.start
        self._client = CLIENTS[settings.family](settings, self)
        shared = settings.subscription == "Shared"
        self._shared = SharedDispatch(settings, catching_up=not settings.live) if shared else None
        self._permits = Permits(settings.receiver_queue)
        self._timeout_ms = None if settings.family in ("go", "sql") else settings.ack_timeout_ms
        self._redeliver_ms = NEVER
        self._tracked: dict[Position, LogEntry] = {}
        reconnects = [(at, False) for at in settings.reconnect_after]
        self._interruptions = sorted(reconnects + [(at, True) for at in settings.restart_after])
        self._held: list[LogEntry] = []  # what comes after the next interruption
        self._now_ms = connected_ms
        self.damage: Damage | None = None
        self.permits_kept = 0

    @property
    def contexts(self) -> Contexts:
        """What the client is putting together, with its peaks."""
        return self._client.contexts

    def offer(self, entry: LogEntry) -> None:
        """The next entry of the log; positions ascend."""
        if self._start is not None and entry.position < self._start:
            return
        while self._interruptions and entry.position > self._interruptions[0][0]:
            self._reconnect(fresh=self._interruptions.pop(0)[1])
        self._take(entry)

    def pass_whole(self, messages: WholeMessages) -> bool:
        """Have all of them delivered at once; false, and nothing done, where they must be offered one by one."""
        settled = self.damage is None and not self._interruptions and self._start is None and not self._permits.scarce
        if not settled or self._live or self._shared is not None:
            return False
        if not self._client.pass_whole(messages, self._now_ms):
            return False
        self._permits.pass_messages(messages.entries)
        return True

    def _take(self, entry: LogEntry) -> None:
        # Runs once per chunk and model: no call here that is not needed.
        if self.damage is None:
            if self._live:
                self._move_clock(max(entry.stored_ms, self._connected_ms))
            if entry.plain_before:
                self._permits.pass_messages(entry.plain_before)
            if self._permits.scarce and self._permits.exhausted:
                self._break("permit_stall", entry, "the client kept the permits of dropped last chunks")
        if self._interruptions and self._is_stalled():
            self._held.append(entry)
        elif self.damage is not None:
            self._cursor.block(entry)
        elif entry.marker:
            self._cursor.dispatch(entry)
            self._cursor.acknowledge((entry,), "marker")
        elif self._shared is None:
            self._cursor.dispatch(entry)
            self._send(entry)
        else:
            self._dispatch(entry, self._shared, 1 + entry.plain_before)

    def finish(self, until_ms: int) -> None:
        """The log ends; the consumer stays connected until then."""
        while self._interruptions:
            self._reconnect(fresh=self._interruptions.pop(0)[1])
        if self._shared is not None and self.damage is None:
            self._end_batch(None)
        self._move_clock(until_ms)
        if self.damage is not None and self.damage.kind == "reconnect_loop":
            self._loop()

    def _dispatch(self, entry: LogEntry, shared: SharedDispatch, entries_read: int) -> None:
        """A Shared subscription: the entry goes to the consumer, or waits for one."""
        if shared.admits(entry):
            self._cursor.dispatch(entry)
            self._send(entry)
        elif self._settings.acks_headless:
            self._cursor.dispatch(entry)
            self._cursor.acknowledge((entry,), "headless")
        else:
            self._put_aside(entry, shared)
        if shared.fill(entries_read):
            self._end_batch(entry)

    def _put_aside(self, entry: LogEntry, shared: SharedDispatch) -> None:
        if shared.put_aside(entry):
            self._cursor.doubt()

    def _end_batch(self, entry: LogEntry | None) -> None:
        """The broker tries again what had no consumer; while that does not go, it reads nothing new."""
        shared = self._shared
        if shared is None:
            return
        while self.damage is None and (again := shared.retry()):
            for waiting in again:
                self._cursor.dispatch(waiting)
                self._send(waiting)
        if shared.waiting and self.damage is None:
            self._break("dispatch_stall", entry or shared.waiting[0], "a chunk without its first chunk has no consumer")
        if self.damage is not None and self._interruptions:
            self._held += shared.waiting
        elif self.damage is not None:
            for waiting in shared.waiting:
                self._cursor.block(waiting)
        if self.damage is not None:
            shared.waiting = []

    def _send(self, entry: LogEntry) -> None:
        """The client gets the entry, and the log may break it."""
        self._permits.pass_messages(1)
        try:
            self._client.receive(entry, self._now_ms)
        except BrokenClientError as damaged:
            self._break(damaged.kind, damaged.entry, damaged.why)
            if damaged.kind == "reconnect_loop":
                self._loop()

    def _break(self, kind: DamageKind, entry: LogEntry, why: str) -> None:
        self.damage = Damage(kind, entry.position, entry.publication, why)

    def _loop(self) -> None:
        """The connection is lost and comes back, until a round gets past the entry or nothing changes any more.

        Counters and the age of chunks change from round to round, so a few rounds without progress are needed. No
        context grows older than a round, because each round begins it anew.
        """
        idle_rounds = 0
        while idle_rounds < (self._settings.pending_limit or 0) + 3:
            before = self._cursor.acknowledgements
            if self._redeliver_all():
                self.damage = None
                return
            self._now_ms += RECONNECT_MS
            if self._now_ms >= self._client.next_timer_ms:
                self._client.run_timers(self._now_ms)
            idle_rounds = 0 if self._cursor.acknowledgements > before else idle_rounds + 1

    def _redeliver_all(self) -> bool:
        """The client gets everything again that is not acknowledged; false where the log breaks it.

        It skips what it has acknowledged in this very round: such an acknowledgement waits to be sent, and is known.
        """
        self._permits = Permits(self._settings.receiver_queue)
        for entry in self._cursor.unacknowledged():
            self._permits.pass_messages(1)
            if not self._cursor.is_unacknowledged(entry):
                continue
            try:
                self._client.receive(entry, self._now_ms)
            except BrokenClientError:
                return False
        return True

    def _is_stalled(self) -> bool:
        return self.damage is not None and self.damage.kind.endswith("_stall")

    def _reconnect(self, *, fresh: bool) -> None:
        """The connection is lost once: what was dispatched and not acknowledged comes again, and what was held up.

        Contexts survive, unless the consumer is a fresh one.
        """
        if self.damage is not None and not self._is_stalled():
            return
        self.damage = None
        self._permits = Permits(self._settings.receiver_queue)
        if fresh:
            peaks, self._client = self.contexts, CLIENTS[self._settings.family](self._settings, self)
            self.contexts.keep_peaks(peaks)
        if self._shared is not None:
            self._shared = SharedDispatch(self._settings, catching_up=True)
        waiting, self._held = self._held, []
        self._dispatch_again(self._cursor.unacknowledged())
        for entry in waiting:
            self._take(entry)
        if self._shared is not None and self._settings.live:
            self._end_batch(None)
            self._shared.go_live()

    def _dispatch_again(self, entries: Iterable[LogEntry]) -> None:
        for entry in entries:
            if self.damage is not None:
                return
            if self._shared is None or self._shared.admits(entry):
                self._send(entry)
            else:
                self._put_aside(entry, self._shared)

    def _move_clock(self, now_ms: int) -> None:
        """Let time pass: timers of the client, and redeliveries after an ack timeout.

        Rounds that change nothing are cut short; the last one, when everything is oldest, is played all the same.
        """
        idle_rounds = 0
        while self._redeliver_ms <= now_ms and self.damage is None:
            before = self._cursor.acknowledgements
            self._pass_time(self._redeliver_ms)
            self._redeliver_ms = NEVER
            # An Exclusive consumer asks for everything again, a Shared one for what it tracked.
            tracked, self._tracked = self._tracked, {}
            again = self._cursor.unacknowledged()
            self._dispatch_again(e for e in again if self._shared is None or e.position in tracked)
            self._end_batch(None)
            idle_rounds = 0 if self._cursor.acknowledgements > before else idle_rounds + 1
            if idle_rounds > (self._settings.pending_limit or 0) + 3 and self._redeliver_ms < now_ms:
                self._redeliver_ms = now_ms
        self._pass_time(now_ms)

    def _pass_time(self, now_ms: int) -> None:
        if now_ms >= self._client.next_timer_ms and (self.damage is None or self._is_stalled()):
            self._client.run_timers(now_ms)
        self._now_ms = max(self._now_ms, now_ms)

    # What the client tells goes to the cursor; permits and ack timeouts are noticed on the way.

    def leave(self, entries: Sequence[LogEntry], reason: HoleReason, *, tracked: bool = False) -> None:
        """See `Inbox`."""
        if tracked and self._timeout_ms is not None:
            self._tracked |= {entry.position: entry for entry in entries}
            self._redeliver_ms = min(self._redeliver_ms, self._now_ms + self._timeout_ms)
        self._cursor.leave(entries, reason, tracked=tracked)

    def keep_permit(self, entry: LogEntry) -> None:
        """See `Inbox`."""
        self._permits.keep()
        self.permits_kept += 1
        self._cursor.keep_permit(entry)
