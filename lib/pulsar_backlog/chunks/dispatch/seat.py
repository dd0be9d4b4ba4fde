"""Connections between one client and the broker: a new consumer object for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pulsar_backlog.chunks.dispatch.auditor import Auditor
from pulsar_backlog.chunks.dispatch.broker_consumer import BrokerConsumer
from pulsar_backlog.chunks.dispatch.client import ClientProcess
from pulsar_backlog.chunks.dispatch.clock import Clock, Link
from pulsar_backlog.chunks.dispatch.connection import Message
from pulsar_backlog.chunks.dispatch.cursor import Topic
from pulsar_backlog.chunks.dispatch.dispatcher import Dispatcher
from pulsar_backlog.chunks.dispatch.settings import ConsumerSettings


class World(Protocol):
    """Broker and topics."""

    clock: Clock
    topic: Topic
    auditor: Auditor
    dispatcher: Dispatcher

    def acknowledge(self, consumer: BrokerConsumer, batch: tuple[int, ...], *, cumulative: bool) -> None:
        """Acknowledgements arrive."""

    def received(self, message: Message) -> None:
        """An application took a message."""

    def publish_elsewhere(self, topic: str, message: Message, settings: ConsumerSettings) -> bool:
        """A dead letter or a retry; false when it is refused."""

    def deliver_retry(self, message: Message, delay_ms: float) -> None:
        """A message of the retry topic comes to one of its consumers after its delay."""


class Seat:
    """One consumer's place: the `Connection` of its client, over all its connections.

    Attributes:
        process: the client.
        consumer: the broker's object of the newest connection.
        ready: whether its first permits have arrived.
    """

    def __init__(self, world: World, name: str, settings: ConsumerSettings, *, single: bool) -> None:
        self._world = world
        self._name = name
        self._to_client = self._to_broker = Link(world.clock)
        self.consumer: BrokerConsumer | None = None
        self.ready = False
        self.process = ClientProcess(settings, world.clock, self, single=single)

    def connect(self, *, at_once: bool = False) -> None:
        """A new connection, and a new consumer object; at once where the broker had it wait."""
        if not self.process.alive:
            return
        clock = self._world.clock
        self._to_client, self._to_broker = Link(clock), Link(clock)
        self.subscribe(at_once=at_once)

    def subscribe(self, *, at_once: bool = True) -> None:
        """A new consumer object on this connection."""
        consumer = BrokerConsumer(
            self._name,
            self._to_client,
            self._receive,
            self._world.auditor,
            self.process.settings.key_ranges,
        )
        self.consumer = consumer

        def subscribed() -> None:
            self._world.dispatcher.add(consumer)
            self._to_client.send(self.process.connect)

        if at_once:
            subscribed()
        else:
            self._to_broker.send(subscribed)

    def _receive(self, at: int, count: int) -> None:
        self.process.receive(self._world.topic.entries[at], at, count)

    def cut_off(self) -> None:
        """Nothing arrives at the client any more."""
        self._to_client.up = False

    def leave(self) -> None:
        """The connection is gone; the broker notices soon."""
        consumer = self.consumer
        self._to_client.up = False
        self.process.connected = False
        if consumer is not None:
            self._world.clock.soon(lambda: self._world.dispatcher.remove(consumer))

    def flow(self, permits: int) -> None:
        """Permits, to the broker."""
        consumer = self.consumer
        if consumer is not None:

            def arrive() -> None:
                self.ready = True
                self._world.dispatcher.flow(consumer, permits)

            self._to_broker.send(arrive)

    def acknowledge(self, batch: Sequence[int], *, cumulative: bool = False) -> None:
        """Acknowledgements, to the broker."""
        consumer, places = self.consumer, tuple(batch)
        if consumer is not None:
            self._to_broker.send(lambda: self._world.acknowledge(consumer, places, cumulative=cumulative))

    def redeliver(self, batch: Sequence[int] | None) -> None:
        """A request for entries, or for all, to the broker."""
        consumer = self.consumer
        if consumer is not None:
            chosen = None if batch is None else tuple(batch)
            self._to_broker.send(lambda: self._world.dispatcher.redeliver(consumer, chosen))

    def received(self, message: Message) -> None:
        """The application took a message."""
        self._world.auditor.delivered(self._name, message.entries)
        self._world.received(message)

    def dead_letter(self, message: Message) -> bool:
        """A message for the dead-letter topic."""
        return self._world.publish_elsewhere(self.process.settings.dead_letter_topic, message, self.process.settings)

    def retry_later(self, message: Message, delay_ms: int) -> bool:
        """A message for the retry topic, or after that for the dead-letter topic."""
        settings, allowed = self.process.settings, self.process.settings.retries_allowed
        again = Message(message.label, (), 0, message.whole, message.retries + 1)
        if allowed is not None and again.retries > allowed:
            return self._world.publish_elsewhere(settings.dead_letter_topic, message, settings)
        stored = self._world.publish_elsewhere(settings.retry_topic, message, settings)
        if stored:
            self._world.deliver_retry(again, delay_ms)
        return stored

    def label(self, at: int) -> str:
        """Message of an entry."""
        return self._world.topic.labels[at]
