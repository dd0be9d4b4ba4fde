"""A topic's entries published into a new topic, in order, each once: what stands there already is the journal.

The producer is the topic's only one while it is connected. What is stored there must be the first entries of what is
published, byte for byte; the rest is sent, and all of it read back. So a run that was killed goes on where it ended.
A subscription is made with the topic, for a topic that nobody subscribes to keeps nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.ledgers.live.pace import Pace
from pulsar_backlog.protocol.addresses import ClientError
from pulsar_backlog.protocol.connection import Connection, Service
from pulsar_backlog.protocol.lookup import connection_to_owner
from pulsar_backlog.protocol.reader import Reader
from pulsar_backlog.repair.broker.producer import BEYOND_BYTES
from pulsar_backlog.repair.rebuilding.content import Content, Sendable, as_sent
from pulsar_backlog.wire.proto.broker_commands_pb2 import (
    BaseCommand,
    CommandProducer,
    CommandSend,
    ProducerAccessMode,
)

NAME = "pulsar-backlog-rebuild"
"""Of the producer, and of the subscription that keeps what it sends."""
IN_FLIGHT_ENTRIES = 500
IN_FLIGHT_BYTES = 8 * 1024 * 1024
"""Sent and not yet stored, at most."""

_NUMBER = 1
_EARLIEST = (-1, -1)


@dataclass(frozen=True)
class Published:
    """What is in the new topic.

    Attributes:
        before: entries that an earlier run had stored.
        now: entries that this one did.
    """

    before: int
    now: int


def published(service: Service, topic: str, content: Content, pace: Pace) -> Published:
    """Publish what is not there yet, and read back all of it.

    Args:
        service: of brokers.
        topic: full name of the new topic; it is made if the broker makes topics.
        content: of the old one.
        pace: limit of publishing.

    Raises:
        ClientError: the topic holds something else, the broker refuses, or the connection broke.
        SourceError: a ledger cannot be read.
    """
    with closing(connection_to_owner(service, topic)) as connection:
        _become_producer(connection, topic, content)
        before = matching(service, topic, content.sendables())
        _send(connection, islice(content.sendables(), before, None), before, pace)
        there = matching(service, topic, content.sendables())
    if there != content.tally.entries:
        words = f"it holds {there:,} of {content.tally.entries:,} entries after all were sent: start again"
        raise ClientError(topic, "failed", words)
    return Published(before, there - before)


def matching(service: Service, topic: str, wanted: Iterator[Sendable]) -> int:
    """How many entries a topic holds, when they are the first of these, byte for byte.

    Raises:
        ClientError: one is another, or it cannot be read.
    """
    with closing(connection_to_owner(service, topic)) as connection:
        reader = Reader(connection, topic, _EARLIEST)
        last, at, count = reader.last(), _EARLIEST, 0
        while last[1] >= 0 and at < last:
            at, data = reader.next()
            one = next(wanted, None)
            if one is None or not _is_same(data, one):
                theirs = f"entry {one.position[0]}:{one.position[1]} of the source" if one else "the end of the source"
                words = f"entry {at[0]}:{at[1]} there is not {theirs}: publish into a topic that holds nothing else"
                raise ClientError(topic, "failed", words)
            count += 1
    return count


def _is_same(data: bytes, one: Sendable) -> bool:
    try:
        return as_sent(data) == one.data
    except DecodeError:
        return False


def _become_producer(connection: Connection, topic: str, content: Content) -> None:
    """Connect as the topic's only producer."""
    tally = content.tally
    if tally.largest_bytes > connection.max_message_bytes + BEYOND_BYTES:
        words = f"an entry has {tally.largest_bytes:,} bytes, its broker takes {connection.max_message_bytes:,}"
        raise ClientError(topic, "failed", f"{words}: raise maxMessageSize there; nothing was sent")
    wanted = CommandProducer(
        topic=topic, producer_id=_NUMBER, request_id=2, producer_name=NAME, user_provided_producer_name=True,
        encrypted=tally.is_encrypted, producer_access_mode=ProducerAccessMode.Exclusive,
        initial_subscription_name=NAME,
    )  # fmt: skip
    connection.ask(BaseCommand.PRODUCER, wanted, BaseCommand.PRODUCER_SUCCESS)


def _send(connection: Connection, entries: Iterable[Sendable], first: int, pace: Pace) -> None:
    """Send entries in order; sequence ids are their places among all, so deduplication knows each again."""
    way = _OnTheWay(connection)
    for sequence_id, one in enumerate(entries, start=first):
        pace.spend(len(one.data))
        way.make_room(len(one.data))
        command = CommandSend(producer_id=_NUMBER, sequence_id=sequence_id, num_messages=one.messages)
        if one.is_chunk:
            command.is_chunk = True
        connection.tell(BaseCommand.SEND, command, one.data)
        way.add(sequence_id, len(one.data))
    way.make_room(None)


@dataclass
class _OnTheWay:
    """Entries that were sent and are not stored yet, oldest first."""

    connection: Connection
    waiting: deque[tuple[int, int]] = field(default_factory=deque)
    size: int = 0

    def add(self, sequence_id: int, size: int) -> None:
        self.waiting.append((sequence_id, size))
        self.size += size

    def make_room(self, size: int | None) -> None:
        """Wait until one of this size may be sent; None waits until all are stored."""
        while self.waiting and (
            size is None or len(self.waiting) >= IN_FLIGHT_ENTRIES or self.size + size > IN_FLIGHT_BYTES
        ):
            receipt = self.connection.wait(BaseCommand.SEND_RECEIPT)[0].send_receipt
            sequence_id, stored = self.waiting.popleft()
            self.size -= stored
            if receipt.sequence_id != sequence_id:
                words = f"the broker stored number {receipt.sequence_id} where {sequence_id} was next: start again"
                raise ClientError(NAME, "failed", words)
