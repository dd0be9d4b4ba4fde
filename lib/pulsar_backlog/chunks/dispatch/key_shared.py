"""The Key_Shared dispatcher: entries by the hash of their key; no pins.

A consumer that joins takes over hashes. Those of which an old owner still has entries drain: nothing of them is
dispatched to the new owner before the old one acknowledged, gave back or left. What is blocked waits in the replay
queue, later entries of the same hash behind it, while other hashes are read on (look-ahead).

Source: PersistentStickyKeyDispatcherMultipleConsumers and DrainingHashesTracker of apache/pulsar, 4.0 (PIP-379).
"""

from __future__ import annotations

from pulsar_backlog.chunks.dispatch.auditor import Auditor
from pulsar_backlog.chunks.dispatch.broker_consumer import BrokerConsumer
from pulsar_backlog.chunks.dispatch.clock import Clock
from pulsar_backlog.chunks.dispatch.cursor import Topic
from pulsar_backlog.chunks.dispatch.dispatcher import MultipleConsumers
from pulsar_backlog.chunks.dispatch.hashing import owner_of


class KeySharedDispatcher(MultipleConsumers):
    """One Key_Shared subscription."""

    def __init__(self, topic: Topic, clock: Clock, auditor: Auditor) -> None:
        super().__init__(topic, clock, auditor)
        self._draining: dict[int, set[int]] = {}  # hashes by old owner
        self._owners: dict[int, BrokerConsumer | None] = {}  # by hash, as long as nobody comes or goes

    def add(self, consumer: BrokerConsumer) -> None:
        """A consumer subscribes: the hashes it takes over drain."""
        self._owners.clear()
        super().add(consumer)
        self._note_draining()

    def remove(self, consumer: BrokerConsumer) -> None:
        """A consumer leaves; hashes that come back to their old owner drain no more."""
        self._draining.pop(id(consumer), None)
        self._owners.clear()  # who is left reads on at once
        super().remove(consumer)
        self._note_draining()

    def _note_draining(self) -> None:
        for consumer in self.consumers:
            hashes = {self.topic.hashes[at] for at in consumer.pending}
            self._draining[id(consumer)] = {hash_ for hash_ in hashes if self._owner(hash_) is not consumer}

    def _owner(self, hash_: int) -> BrokerConsumer | None:
        if hash_ not in self._owners:
            self._owners[hash_] = self._owner_now(hash_)
        return self._owners[hash_]

    def _owner_now(self, hash_: int) -> BrokerConsumer | None:
        if not self.consumers:
            return None
        if any(consumer.ranges for consumer in self.consumers):
            for consumer in self.consumers:
                if any(first <= hash_ <= last for first, last in consumer.ranges):
                    return consumer
            return None
        return self.consumers[owner_of(hash_, [consumer.name for consumer in self.consumers])]

    def released(self, consumer: BrokerConsumer, at: int) -> None:
        """A consumer has an entry no more; with the last of a hash, that has drained."""
        super().released(consumer, at)
        hash_ = self.topic.hashes[at]
        draining = self._draining.get(id(consumer), set())
        if hash_ in draining and all(self.topic.hashes[other] != hash_ for other in consumer.pending):
            draining.discard(hash_)
            self._changed()
            self.clock.soon(self.read_more)

    def _target(self, at: int) -> BrokerConsumer | None:
        """Who gets an entry now; None while it is blocked."""
        hash_ = self.topic.hashes[at]
        owner = self._owner(hash_)
        if owner is None or owner.permits <= 0:
            return None
        if any(hash_ in hashes for old, hashes in self._draining.items() if old != id(owner)):
            return None
        return owner

    def replayable(self, most: int) -> list[int]:
        """What is put aside and not blocked."""
        blocked: set[int] = set()
        batch: list[int] = []
        for at in super().replayable(len(self.topic.entries)):
            hash_ = self.topic.hashes[at]
            if hash_ in blocked or self._target(at) is None:
                blocked.add(hash_)
            else:
                batch.append(at)
                if len(batch) == most:
                    break
        return batch

    def send(self, batch: list[int], *, replayed: bool) -> int:
        """By hash; a hash of which something waits is blocked for what is read later."""
        blocked = set() if replayed else {self.topic.hashes[at] for at in self.replay}
        parts: dict[int, tuple[BrokerConsumer, list[int]]] = {}
        for at in batch:
            hash_ = self.topic.hashes[at]
            target = None if hash_ in blocked else self._target(at)
            if target is not None and len(parts.get(id(target), (target, []))[1]) >= target.permits:
                target = None
            if target is None:
                blocked.add(hash_)
                self.put_aside(at)
            else:
                parts.setdefault(id(target), (target, []))[1].append(at)
        return sum(self.give(consumer, part) for consumer, part in parts.values())
