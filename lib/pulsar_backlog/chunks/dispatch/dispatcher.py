"""What dispatchers of several consumers have in common: consumers, permits, the replay queue, reads.

A normal read takes what is stored, at most as many entries as there are permits; where nothing is stored it waits, and
the next entry that is stored wakes it alone. What is put aside is replayed before anything is read. A replay read that
dispatches nothing is tried again with a backoff: here only when something has changed, or it would never end.

Source: PersistentDispatcherMultipleConsumers of apache/pulsar, 4.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pulsar_backlog.chunks.dispatch.auditor import Auditor
from pulsar_backlog.chunks.dispatch.broker_consumer import BrokerConsumer
from pulsar_backlog.chunks.dispatch.clock import Clock
from pulsar_backlog.chunks.dispatch.cursor import Topic


class Dispatcher(Protocol):
    """What a subscription does with its consumers."""

    consumers: list[BrokerConsumer]

    def add(self, consumer: BrokerConsumer) -> None:
        """A consumer subscribes."""

    def remove(self, consumer: BrokerConsumer) -> None:
        """A consumer leaves, however."""

    def flow(self, consumer: BrokerConsumer, permits: int) -> None:
        """A consumer gives permits."""

    def redeliver(self, consumer: BrokerConsumer, batch: Sequence[int] | None) -> None:
        """A consumer asks for entries again; None is all it has."""

    def acknowledged(self, consumer: BrokerConsumer, at: int) -> None:
        """An entry was acknowledged."""

    def stored(self) -> None:
        """An entry was stored."""

    def close(self) -> None:
        """The topic is unloaded: nothing is dispatched any more."""

    def waiting(self) -> set[int]:
        """Entries put aside or on their way to consumers."""


class MultipleConsumers:
    """The common part.

    Attributes:
        consumers: connected ones, in order of joining.
        replay: entries put aside.
        counts: redelivery counts.
    """

    def __init__(self, topic: Topic, clock: Clock, auditor: Auditor) -> None:
        self.topic = topic
        self.clock = clock
        self.auditor = auditor
        self.consumers: list[BrokerConsumer] = []
        self.replay: set[int] = set()
        self.counts: dict[int, int] = {}
        self._total_permits = 0
        self._reading = self._waiting = self._replaying = False
        self._rewind_first = False
        self._fruitless = 0
        self._closed = False
        self._under_way: set[int] = set()

    def waiting(self) -> set[int]:
        """Entries put aside or on their way to consumers."""
        return self.replay | self._under_way

    def _rewind(self) -> None:
        self.topic.rewind()
        self.auditor.rewound(self.topic.read_position)

    def add(self, consumer: BrokerConsumer) -> None:
        """A consumer subscribes; the first one begins at the first unacknowledged entry."""
        if not self.consumers:
            if (self._reading and not self._waiting) or self._replaying:
                self._rewind_first = True
            else:
                self._reading = self._waiting = False
                self._rewind()
            self.replay.clear()
        self.consumers.append(consumer)
        self._changed()

    def remove(self, consumer: BrokerConsumer) -> None:
        """A consumer leaves: what it had is put aside, or forgotten with the last one until somebody comes."""
        if consumer not in self.consumers:
            return
        self.consumers.remove(consumer)
        if self.consumers:
            for at in list(consumer.pending):
                if self.put_aside(at):
                    self.counts.setdefault(at, 0)
            self._total_permits -= consumer.permits
        else:
            if self._waiting:
                self._reading = self._waiting = False
            self.replay.clear()
            self.counts.clear()
            self._total_permits = 0
        consumer.pending.clear()
        self.auditor.departed(consumer, self.replay if self.consumers else None)
        self._changed()
        self.read_more()

    def close(self) -> None:
        """The topic is unloaded: nothing is dispatched any more."""
        self._closed = True
        self.consumers.clear()

    def flow(self, consumer: BrokerConsumer, permits: int) -> None:
        """A consumer gives permits."""
        consumer.permits += permits
        if consumer in self.consumers:
            self._total_permits += permits
            self._changed()
            self.read_more()

    def redeliver(self, consumer: BrokerConsumer, batch: Sequence[int] | None) -> None:
        """Entries go to the replay queue, if the consumer has them."""
        chosen = consumer.pending if batch is None else dict.fromkeys(batch)
        given_back = [at for at in chosen if at in consumer.pending]
        for at in given_back:
            self.released(consumer, at)
            if self.put_aside(at):
                self.counts[at] = self.counts.get(at, 0) + 1
        self.auditor.given_back(given_back, self.replay)
        self._changed()
        self.read_more()

    def acknowledged(self, consumer: BrokerConsumer, at: int) -> None:
        """An entry was acknowledged."""
        for other in (consumer, *self.consumers):
            if at in other.pending:
                self.released(other, at)

    def released(self, consumer: BrokerConsumer, at: int) -> None:
        """A consumer has an entry no more."""
        del consumer.pending[at]

    def put_aside(self, at: int) -> bool:
        """To the replay queue, if it is not acknowledged."""
        if self.topic.is_acknowledged(at):
            return False
        self.replay.add(at)
        return True

    def stored(self) -> None:
        """A waiting read gets the entry."""
        if self._waiting:
            self._waiting = False
            batch = self.topic.read(1)
            self._under_way.update(batch)
            self.clock.soon(lambda: self._read_complete(batch))

    def _changed(self) -> None:
        self._fruitless = 0

    def _first_permits(self) -> int:
        return next((consumer.permits for consumer in self.consumers if consumer.permits > 0), 0)

    def replayable(self, most: int) -> list[int]:
        """What a replay read takes."""
        self.replay = {at for at in self.replay if not self.topic.is_acknowledged(at)}
        return sorted(self.replay)[:most]

    def read_more(self) -> None:
        """Replay, or read."""
        first = self._first_permits()
        if self._closed or first <= 0 or self._replaying:
            return
        most = min(max(self._total_permits, first), self.topic.read_batch)
        batch = self.replayable(most)
        if batch:
            if self._fruitless < 2 * len(self.consumers) + 1:
                self._replaying = True
                self.clock.soon(lambda: self._replay_complete(batch))
        elif not self._reading:
            self._reading = True
            self.clock.soon(lambda: self._read(most), 0.02)

    def _read(self, most: int) -> None:
        batch = self.topic.read(most)
        if batch:
            self._read_complete(batch)
        elif self.consumers:
            self._waiting = True
        else:
            self._reading = False

    def _read_complete(self, batch: list[int]) -> None:
        self._reading = False
        self._under_way.difference_update(batch)
        if self._rewind_first:
            self._rewind_first = False
            self._rewind()
            self.read_more()
            return
        self._dispatch(batch, replayed=False)

    def _replay_complete(self, batch: list[int]) -> None:
        self._replaying = False
        self._dispatch([at for at in batch if not self.topic.is_acknowledged(at)], replayed=True)

    def _dispatch(self, batch: list[int], *, replayed: bool) -> None:
        if self._closed:
            return
        count = self.send(batch, replayed=replayed) if batch else 0
        if count == 0 and batch:
            self._fruitless += 1
        elif count:
            self._fruitless = 0
        self.clock.soon(self.read_more, 0.7)

    def send(self, batch: list[int], *, replayed: bool) -> int:
        """Give a batch to consumers; returns how many entries were sent."""
        raise NotImplementedError

    def give(self, consumer: BrokerConsumer, batch: Sequence[int]) -> int:
        """As many as its permits allow; the rest is put aside."""
        count = min(max(consumer.permits, 0), len(batch))
        for at in batch[count:]:
            self.put_aside(at)
        if count:
            self.replay.difference_update(batch[:count])
            consumer.send(batch[:count], self.counts)
            self.auditor.permits(consumer.name, consumer.permits)
            self._total_permits -= count
        return count
