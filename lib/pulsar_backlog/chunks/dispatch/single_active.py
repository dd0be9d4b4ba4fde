"""The dispatcher of Exclusive and Failover: one consumer gets all, in order.

Who asks for anything again gets everything again that is not acknowledged, by a rewind, with a redelivery count of 0.
When the active consumer of a Failover subscription leaves, the hash ring of the topic's name chooses the next.

Source: PersistentDispatcherSingleActiveConsumer of apache/pulsar, 4.0.
"""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_backlog.chunks.dispatch.auditor import Auditor
from pulsar_backlog.chunks.dispatch.broker_consumer import BrokerConsumer
from pulsar_backlog.chunks.dispatch.clock import Clock
from pulsar_backlog.chunks.dispatch.cursor import Topic
from pulsar_backlog.chunks.dispatch.hashing import active_of

FAILOVER_DELAY_MS = 1000
"""Default of `activeConsumerFailoverDelayTimeMillis`."""


class SingleActiveDispatcher:
    """One Exclusive or Failover subscription.

    Attributes:
        consumers: connected ones.
        active: the one that gets entries.
        preferred: name of the one that is active while it is there; empty when only the topic's name decides.
    """

    def __init__(self, topic: Topic, clock: Clock, auditor: Auditor, *, name: str, preferred: str = "") -> None:
        self.topic = topic
        self.clock = clock
        self.auditor = auditor
        self.consumers: list[BrokerConsumer] = []
        self.active: BrokerConsumer | None = None
        self.preferred = preferred
        self._name = name
        self._epoch = 0
        self._busy = self._waiting = self._closed = False

    def add(self, consumer: BrokerConsumer) -> None:
        """A consumer subscribes."""
        self.consumers.append(consumer)
        self._pick()

    def remove(self, consumer: BrokerConsumer) -> None:
        """A consumer leaves."""
        if consumer in self.consumers:
            self.consumers.remove(consumer)
            self.auditor.departed(consumer, None)
            consumer.pending.clear()
            self._pick()

    def close(self) -> None:
        """The topic is unloaded."""
        self._closed = True
        self.consumers.clear()
        self.active = None

    def _pick(self) -> None:
        chosen: BrokerConsumer | None = None
        if self.consumers:
            names = [consumer.name for consumer in self.consumers]
            if self.preferred in names:
                at = names.index(self.preferred)
            elif self._name:
                at = active_of(self._name, names)
            else:
                at = self.clock.random.randrange(len(names))
            chosen = self.consumers[at]
        if chosen is not self.active:
            self.active = chosen
            self._restart(FAILOVER_DELAY_MS if len(self.consumers) > 1 else 0)

    def _restart(self, delay_ms: float) -> None:
        """Read again from the first unacknowledged entry."""
        self._epoch += 1
        epoch = self._epoch
        self._busy, self._waiting = True, False

        def begin() -> None:
            if epoch == self._epoch:
                self.topic.rewind()
                self.auditor.rewound(self.topic.read_position)
                self._busy = False
                self._read_more()

        self.clock.after(delay_ms, begin)

    def waiting(self) -> set[int]:
        """Nothing: a batch is sent in the moment in which it is read."""
        return set()

    def flow(self, consumer: BrokerConsumer, permits: int) -> None:
        """A consumer gives permits."""
        consumer.permits += permits
        self._read_more()

    def redeliver(self, consumer: BrokerConsumer, batch: Sequence[int] | None) -> None:
        """All again."""
        if consumer is self.active:
            self.auditor.departed(consumer, None)
            consumer.pending.clear()
            self._restart(0)

    def acknowledged(self, consumer: BrokerConsumer, at: int) -> None:
        """An entry was acknowledged."""
        consumer.pending.pop(at, None)

    def stored(self) -> None:
        """A waiting read gets the entry."""
        if self._waiting:
            self._waiting = False
            self._busy = True
            self._complete_soon()

    def _read_more(self) -> None:
        if self._closed or self._busy or self.active is None or self.active.permits <= 0:
            return
        if self.topic.read_position >= len(self.topic.entries):
            self._waiting = True
            return
        self._waiting, self._busy = False, True
        self._complete_soon()

    def _complete_soon(self) -> None:
        epoch = self._epoch

        def complete() -> None:
            if epoch != self._epoch or self.active is None:
                return
            self._busy = False
            most = min(self.active.permits, self.topic.read_batch)
            batch = self.topic.read(most) if most > 0 else []
            if batch:
                self.active.send(batch, {})
                self.auditor.permits(self.active.name, self.active.permits)
            self._read_more()

        self.clock.soon(complete, 0.5)
