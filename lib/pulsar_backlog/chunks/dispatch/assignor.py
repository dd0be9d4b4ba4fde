"""Which consumer of a Shared subscription gets which entry of a batch that holds chunks.

    entry                      4.0                                   4.2
    no chunk                   the current consumer
    chunk 0, uuid not pinned   pinned to the current consumer, even when it is put aside then
    later chunk, not pinned    put aside
    pinned                     its consumer, if that has permits; else put aside
    last chunk                 the pin goes as soon as the chunk is assigned
    permits of the pin's       set to those of the current one,      one less
    consumer after that        less one
    nobody has permits         all forgotten until a rewind          all put aside

The current consumer changes when its permits are used up, and one permit of it is used for each assigned entry,
whoever gets it. In 4.0 a batch may so give a consumer more than its permits: what is too much is put aside, and a last
chunk among it has lost its pin. It waits for ever, and blocks what is read after it.

Source: SharedConsumerAssignor of apache/pulsar, 4.0.8, and with pull requests 25077 and 25620.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pulsar_backlog.chunks.clients.events import LogEntry
from pulsar_backlog.chunks.dispatch.broker_consumer import BrokerConsumer
from pulsar_backlog.chunks.dispatch.settings import BrokerLine

Assignment = list[tuple[BrokerConsumer, list[int]]]


class SharedAssignor:
    """The pins of one dispatcher.

    Attributes:
        pins: consumer by uuid.
    """

    def __init__(
        self,
        broker: BrokerLine,
        next_consumer: Callable[[], BrokerConsumer | None],
        put_aside: Callable[[int], object],
    ) -> None:
        self._exact_permits = broker != "4.0"
        self._next_consumer = next_consumer
        self._put_aside = put_aside
        self._permits: dict[int, int] = {}
        self.pins: dict[str, BrokerConsumer] = {}

    def assign(self, batch: Sequence[int], entries: Sequence[LogEntry], consumers: int) -> Assignment:
        """A batch, by consumer; the rest is put aside."""
        self._permits.clear()
        assigned: dict[int, tuple[BrokerConsumer, list[int]]] = {}
        current = self._consumer(consumers)
        if current is None:
            if self._exact_permits:
                for at in batch:
                    self._put_aside(at)
            return []
        remaining = self._permits_of(current)
        for place, at in enumerate(batch):
            if remaining <= 0:
                self._permits[id(current)] = remaining
                current = self._consumer(consumers)
                if current is None:
                    for rest in batch[place:]:
                        self._put_aside(rest)
                    break
                remaining = current.permits
            entry = entries[at]
            target = current if entry.chunk_id is None else self._pinned(entry, current, remaining)
            if target is None:
                self._put_aside(at)
                continue
            assigned.setdefault(id(target), (target, []))[1].append(at)
            remaining -= 1
        return list(assigned.values())

    def _permits_of(self, consumer: BrokerConsumer) -> int:
        return self._permits.setdefault(id(consumer), consumer.permits)

    def _consumer(self, consumers: int) -> BrokerConsumer | None:
        for _ in range(consumers):
            consumer = self._next_consumer()
            if consumer is None:
                return None
            if self._permits_of(consumer) > 0:
                return consumer
        return None

    def _pinned(self, entry: LogEntry, current: BrokerConsumer, remaining: int) -> BrokerConsumer | None:
        consumer = self.pins.get(entry.uuid)
        if consumer is None:
            if entry.chunk_id != 0:
                return None
            consumer = self.pins[entry.uuid] = current
        permits = self._permits_of(consumer)
        if permits <= 0:
            return None
        if (entry.chunk_id or 0) + 1 == entry.num_chunks:
            del self.pins[entry.uuid]
        self._permits[id(consumer)] = (permits if self._exact_permits else remaining) - 1
        return consumer
