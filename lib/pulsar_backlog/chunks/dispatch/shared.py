"""The Shared dispatcher: consumers in turn, chunks by their pins.

A batch without a chunk goes round in turns of up to 20 entries. One with a chunk goes through the assignor. Pins live
as long as the dispatcher: they outlive their consumers, and only an unload of the topic ends them all.

Source: PersistentDispatcherMultipleConsumers of apache/pulsar, 4.0.
"""

from __future__ import annotations

from pulsar_backlog.chunks.dispatch.assignor import SharedAssignor
from pulsar_backlog.chunks.dispatch.auditor import Auditor
from pulsar_backlog.chunks.dispatch.broker_consumer import BrokerConsumer
from pulsar_backlog.chunks.dispatch.clock import Clock
from pulsar_backlog.chunks.dispatch.cursor import Topic
from pulsar_backlog.chunks.dispatch.dispatcher import MultipleConsumers
from pulsar_backlog.chunks.dispatch.settings import BrokerLine

MAX_ROUND_ROBIN = 20
"""Default of `dispatcherMaxRoundRobinBatchSize`."""


class SharedDispatcher(MultipleConsumers):
    """One Shared subscription."""

    def __init__(self, topic: Topic, clock: Clock, auditor: Auditor, broker: BrokerLine) -> None:
        super().__init__(topic, clock, auditor)
        self.assignor = SharedAssignor(broker, self._next_consumer, self.put_aside)
        self._turn = 0

    def _next_consumer(self) -> BrokerConsumer | None:
        count = len(self.consumers)
        if self._turn >= count:
            self._turn = 0
        for step in range(count):
            at = (self._turn + step) % count
            if self.consumers[at].permits > 0:
                self._turn = at + 1
                return self.consumers[at]
        return None

    def send(self, batch: list[int], *, replayed: bool) -> int:
        """By pins where there is a chunk, else in turns."""
        entries = self.topic.entries
        if any(entries[at].chunk_id is not None for at in batch):
            assignment = self.assignor.assign(batch, entries, len(self.consumers))
            return sum(self.give(consumer, part) for consumer, part in assignment)
        return self._send_in_turns(batch)

    def _send_in_turns(self, batch: list[int]) -> int:
        start = 0
        while start < len(batch) and self._first_permits() > 0:
            consumer = self._next_consumer()
            if consumer is None:
                break
            count = min(len(batch) - start, consumer.permits, MAX_ROUND_ROBIN)
            self.give(consumer, batch[start : start + count])
            start += count
        for at in batch[start:]:
            self.put_aside(at)
        return start
