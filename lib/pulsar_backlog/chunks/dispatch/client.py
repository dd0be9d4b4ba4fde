"""A client and its application: chunk buffer, permits, acknowledgements, redelivery, dead letters.

    permits         one back for each chunk that does not complete a message, one when the application takes a message;
                    Java and C++ send them when half a queue is saved, Go when twice as many make a queue
    acknowledge     all entries of the message, grouped for up to 100 ms; by a serialised id what `Client` says
    nack            after its delay; on Exclusive and Failover everything again; else all chunks or the last one
    ack timeout     Java all chunks, C++ the last one, Go has none
    dead letters    a message that was redelivered more often than allowed: Java by ack timeout and C++ acknowledge all
                    its entries at the source, Java by nack only the last; Go one redelivery earlier, all of them

Source: ConsumerImpl, NegativeAcksTracker and UnAckedMessageTracker of apache/pulsar; ConsumerImpl of
apache/pulsar-client-cpp; partitionConsumer of apache/pulsar-client-go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pulsar_backlog.chunks.clients.cpp import CppClient
from pulsar_backlog.chunks.clients.events import NEVER, AckReason, BrokenClientError, Content, HoleReason, LogEntry
from pulsar_backlog.chunks.clients.java import JavaClient
from pulsar_backlog.chunks.dispatch.clock import Clock
from pulsar_backlog.chunks.dispatch.connection import Connection, Message
from pulsar_backlog.chunks.dispatch.policy import Action, action_for
from pulsar_backlog.chunks.dispatch.settings import ConsumerSettings
from pulsar_backlog.chunks.dispatch.slices import buffer_of

ACK_GROUP_MS = 100
"""Acknowledgements are sent together after so long at most."""
NACK_TICKS = (0.85, 1.4)
"""Trackers of negative acknowledgements look every third of the delay; some round times down."""
DEAD_LETTER_MS = 40
"""How long the producer of dead letters takes."""


class ClientProcess:
    """One consumer's process.

    Attributes:
        alive: whether it runs.
        connected: whether it has a connection.
        hold: whether the application does not receive.
        policy: see `ConsumerSettings`.
    """

    def __init__(self, settings: ConsumerSettings, clock: Clock, connection: Connection, *, single: bool) -> None:
        self.settings = settings
        self.alive = True
        self.connected = False
        self.hold = settings.hold
        self.policy = settings.policy
        self._clock = clock
        self._broker = connection
        self._single = single
        self._client = buffer_of(settings, self)
        self._counts: dict[int, int] = {}
        self._incoming: deque[Message] = deque()
        self._busy = False
        self._saved = 0
        self._kept = False
        self._completed = False
        self._ticks = False
        self._acks: list[int] = []
        self._sent_acks: frozenset[int] = frozenset()
        self._cumulative = -1
        self._seen: dict[str, int] = {}
        self._settled: set[int] = set()
        self._asked: dict[str, float] = {}

    # broker to client

    def connect(self) -> None:
        """The consumer is subscribed, for the first time or again."""
        self.connected = True
        self._sent_acks = frozenset()
        self._saved = 0
        self._incoming.clear()
        self._busy = False
        self._broker.flow(self.settings.queue)

    def receive(self, entry: LogEntry, at: int, count: int) -> None:
        """One dispatched entry."""
        if not self.alive:
            return
        if at in self._acks or at in self._sent_acks:  # its acknowledgement is on its way: dropped as a duplicate
            self._return_permit()
            return
        self._counts[at] = count
        self._settled.discard(at)
        self._kept = self._completed = False
        try:
            self._client.receive(entry, int(self._clock.now_ms))
        except BrokenClientError:
            self.alive = False
            return
        self._begin_ticks()
        if not self._completed and not self._kept:
            self._return_permit()
        self._schedule_timer()

    def _begin_ticks(self) -> None:
        """Expiry ticks of Java and C++ come in the same millisecond as they are due, or in the next."""
        client = self._client
        if not self._ticks and isinstance(client, JavaClient | CppClient) and client.next_timer_ms != NEVER:
            self._ticks = True
            client.next_timer_ms += self._clock.random.randint(0, 1)

    def _schedule_timer(self) -> None:
        due = self._client.next_timer_ms
        if due < self._clock.now_ms + 100_000 and due != getattr(self, "_timer_ms", None):
            self._timer_ms = due
            self._clock.after(max(0.0, due - self._clock.now_ms) + 1, self._run_timers)

    def _run_timers(self) -> None:
        if self.alive:
            self._client.run_timers(int(self._clock.now_ms))
            self._schedule_timer()

    # the buffer's Inbox

    def deliver(self, entries: Sequence[LogEntry], content: Content, *, acks_last_only: bool = False) -> None:
        """A message is whole: to the application, or to the dead letters."""
        self._completed = True
        places = tuple(entry.position[1] for entry in entries)
        count = self._counts.get(places[-1], 0)
        is_slice = content == "short" and self.settings.client.family == "rust"
        message = Message(self._broker.label(places[-1]), places, count, content != "mixed", is_slice=is_slice)
        limit = self.settings.dead_letter_max
        go = self.settings.client.family == "go"
        if limit is not None and not self._single and (count > limit or (go and count >= limit)):
            self._return_permit()
            self._clock.after(DEAD_LETTER_MS, lambda: self._to_dead_letters(message, message.entries))
            return
        self._incoming.append(message)
        self._take_soon()

    def acknowledge(self, entries: Sequence[LogEntry], reason: AckReason) -> None:
        """The client acknowledges by itself."""
        self._acknowledge([entry.position[1] for entry in entries])

    def leave(self, entries: Sequence[LogEntry], reason: HoleReason, *, tracked: bool = False) -> None:
        """The client forgets entries; with an ack timeout those it tracks come again."""
        if tracked and self.settings.ack_timeout_ms and self.settings.client.has_ack_timeout:
            places = [entry.position[1] for entry in entries]
            self._clock.after(self._timeout_ms(), lambda: self._ask_again(places))

    def keep_permit(self, entry: LogEntry) -> None:
        """A leaked permit."""
        self._kept = True

    # permits and acknowledgements

    def _return_permit(self) -> None:
        self._saved += 1
        queue = self.settings.queue
        due = self._saved * 2 >= queue if self.settings.client.family == "go" else self._saved >= max(queue // 2, 1)
        if due and self.connected:
            saved, self._saved = self._saved, 0
            self._broker.flow(saved)

    def _acknowledge(self, places: Sequence[int]) -> None:
        if not places:
            return
        if not self._acks:
            self._clock.after(self._clock.random.uniform(2, ACK_GROUP_MS), self.flush)
        self._acks.extend(places)
        self._settled.update(places)

    def flush(self) -> None:
        """Send what is acknowledged."""
        if self.alive and self.connected:
            if self._acks:
                self._broker.acknowledge(self._acks)
                self._sent_acks = frozenset(self._acks)
            if self._cumulative >= 0:
                self._broker.acknowledge([self._cumulative], cumulative=True)
        self._acks, self._cumulative = [], -1

    # the application

    def go(self) -> None:
        """Receive from now on."""
        self.hold = False
        self._take_soon()

    def _take_soon(self) -> None:
        if not self.hold and not self._busy and self._incoming:
            self._busy = True
            self._clock.soon(self._take, part="application")

    def _take(self) -> None:
        self._busy = False
        if not self.alive or self.hold or not self._incoming:
            return
        message = self._incoming.popleft()
        self._broker.received(message)
        if message.entries:
            self._return_permit()
        seen = self._seen[message.label] = self._seen.get(message.label, 0) + 1
        slow_ms = self.policy.get("slowMs", 0)
        action = action_for(self.policy, message.label, message.count, seen)
        self._clock.after(slow_ms, lambda: self._act(message, action))

    def _act(self, message: Message, action: Action) -> None:
        if not self.alive:
            return
        if action == "ack":
            if len(message.entries) == 1 or self.settings.acknowledges_chunks:
                self._acknowledge(message.entries)
        elif action == "ackser":
            self._acknowledge(self._serialized(message))
        elif action == "ackcum":
            if self._cumulative < 0:
                self._clock.after(self._clock.random.uniform(2, ACK_GROUP_MS), self.flush)
            self._cumulative = max(self._cumulative, message.entries[-1])
            self._settled.update(range(message.entries[-1] + 1))
        elif action == "nack" and message.entries:
            self._nack(message)
        elif action == "later" and self._broker.retry_later(message, 300):
            last_only = self.settings.client.family == "go" and len(message.entries) > 1
            self._acknowledge(message.entries[-1:] if last_only else message.entries)
        if action in ("none", "later") and self.settings.ack_timeout_ms and self.settings.client.has_ack_timeout:
            self._track(message)
        self._take_soon()

    def _serialized(self, message: Message) -> Sequence[int]:
        reach = self.settings.client.serialized_ack
        if reach == "all":
            return message.entries
        return sorted({message.entries[0], message.entries[-1]}) if reach == "ends" else message.entries[-1:]

    # redelivery

    def _timeout_ms(self) -> float:
        return (self.settings.ack_timeout_ms or 0) * self._clock.random.uniform(1.0, 1.55)

    def _track(self, message: Message) -> None:
        places = message.entries if self.settings.client.timeout_all else message.entries[-1:]
        self._clock.after(self._timeout_ms(), lambda: self._ask_again(places))

    def _ask_again(self, places: Sequence[int]) -> None:
        open_places = [at for at in places if at not in self._settled]
        if open_places and self.alive and self.connected:
            self._redeliver(open_places)

    def _redeliver(self, places: Sequence[int]) -> None:
        if not self._single:
            self._broker.redeliver(places)
            return
        now = self._clock.now_ms
        if now - self._asked.get("all", -1e9) > 1:
            self._asked["all"] = now
            self._saved += len(self._incoming)
            self._incoming.clear()
            self._broker.redeliver(None)

    def _nack(self, message: Message) -> None:
        delay = self.settings.nack_delay_ms * self._clock.random.uniform(*NACK_TICKS)
        self._clock.after(delay, lambda: self._nack_now(message))

    def _nack_now(self, message: Message) -> None:
        if not self.alive or not self.connected:
            return
        client, limit = self.settings.client, self.settings.dead_letter_max
        at_limit = limit is not None and message.count >= limit and not self._single
        if at_limit and client.family == "cpp":
            self._clock.after(DEAD_LETTER_MS, lambda: self._to_dead_letters(message, message.entries))
            return
        if at_limit and client.family == "java":
            self._clock.after(DEAD_LETTER_MS, lambda: self._to_dead_letters_by_nack(message))
            return
        self._redeliver(message.entries if client.nack_all else message.entries[-1:])

    def _to_dead_letters(self, message: Message, settled: Sequence[int]) -> None:
        if not self.alive:
            return
        if self._broker.dead_letter(message):
            self._acknowledge(settled)
        else:
            self._clock.after(1000, lambda: self._redeliver(message.entries))

    def _to_dead_letters_by_nack(self, message: Message) -> None:
        """Java: the id of the last chunk is known as that of a dead letter, those of its chunks are asked for again."""
        self._to_dead_letters(message, message.entries[-1:])
        if self.alive and self.settings.client.nack_all and len(message.entries) > 1:
            self._redeliver(message.entries)

    def take_retry(self, message: Message) -> None:
        """A message of the retry topic."""
        self._incoming.append(message)
        self._take_soon()

    def close(self) -> None:
        """The process ends."""
        self.alive = self.connected = False
