"""A reader that leaves nothing behind: its subscription is not durable and ends with its connection.

It acknowledges nothing. A broker sends it what it would send to any consumer: no markers, nothing of aborted or open
transactions, nothing that a filter takes out. What it sends is the entry as stored, checksum included; broker metadata
only where it is set to expose them.
"""

from __future__ import annotations

import struct
import uuid

from google.protobuf.message import DecodeError as ProtobufError

from pulsar_backlog.cluster.saved_cursors import OWN_READER
from pulsar_backlog.errors import DecodeError
from pulsar_backlog.protocol import frames
from pulsar_backlog.protocol.connection import Connection, Messages
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.entry import read_layout
from pulsar_backlog.wire.proto.broker_commands_pb2 import (
    BaseCommand,
    CommandFlow,
    CommandGetLastMessageId,
    CommandSubscribe,
    MessageIdData,
)
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata

PERMITS = 200
"""Messages that the broker may send ahead; of entries it sends as many or fewer."""
_NUMBER = 1


class Reader:
    """A reader of one topic, placed after a position. The broker sends ahead as many messages as `permits` allows.

    Args:
        connection: to the broker that serves the topic.
        topic: full name.
        after: the last position that is not wanted; entry id -1 for a ledger's begin.
        permits: messages on their way at most, but for what one batch has more.

    Raises:
        ClientError: the broker does not let it read.
    """

    def __init__(self, connection: Connection, topic: str, after: Position, permits: int = PERMITS) -> None:
        self._connection = connection
        self._permits = permits
        self._allowed = 0
        start = MessageIdData(ledgerId=_unsigned(after[0]), entryId=_unsigned(after[1]))
        wanted = CommandSubscribe(
            topic=topic, subscription=f"{OWN_READER}{uuid.uuid4().hex[:10]}",
            subType=CommandSubscribe.Exclusive, consumer_id=_NUMBER, request_id=2, durable=False,
            start_message_id=start, force_topic_creation=False,
        )  # fmt: skip
        connection.ask(BaseCommand.SUBSCRIBE, wanted, BaseCommand.SUCCESS)

    def last(self) -> Position:
        """Position of the last entry that it can be sent; entry id -1 when there is none."""
        question = CommandGetLastMessageId(consumer_id=_NUMBER, request_id=3)
        answer = self._connection.ask(
            BaseCommand.GET_LAST_MESSAGE_ID, question, BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE
        )
        return _position(answer.getLastMessageIdResponse.last_message_id)

    def next(self) -> tuple[Position, bytes]:
        """The next entry, as it is stored.

        Raises:
            ClientError: none comes in time, or the connection broke.
        """
        self._flow()
        command, data = self._connection.wait(BaseCommand.MESSAGE)
        self._allowed -= _messages_in(data)
        return _position(command.message.message_id), data

    def positions_within(self, seconds: float) -> list[Position]:
        """Positions of the next entries; none where nothing comes for so long.

        Raises:
            ClientError: the connection broke.
        """
        got = self.messages_within(seconds)
        if got is None:
            return []
        ledgers, entries = got.found[frames.LEDGER].tolist(), got.found[frames.ENTRY].tolist()
        return list(zip(ledgers, entries, strict=True))

    def messages_within(self, seconds: float, least_rate: int | None = None) -> Messages | None:
        """The next entries, as many as are here; None where the broker sends nothing for so long though it may.

        `least_rate` is as in `Connection.messages_within`.

        Raises:
            ClientError: the connection broke.
        """
        self._flow()
        messages = self._connection.messages_within(seconds, least_rate)
        self._allowed -= int(messages.found[frames.MESSAGES].sum()) if messages else 0
        return messages

    def _flow(self) -> None:
        if self._allowed <= self._permits // 2:
            more = self._permits - self._allowed  # a batch may have taken more than there were
            self._connection.tell(BaseCommand.FLOW, CommandFlow(consumer_id=_NUMBER, messagePermits=more))
            self._allowed += more


def _messages_in(data: bytes) -> int:
    """By how many permits the broker counts an entry."""
    try:
        layout = read_layout(data)
        metadata = MessageMetadata.FromString(data[layout.metadata_offset : layout.payload_offset])
    except (DecodeError, ProtobufError):
        return 1
    return max(1, metadata.num_messages_in_batch)


def _position(id_: MessageIdData) -> Position:
    return _signed(id_.ledgerId), _signed(id_.entryId)


def _unsigned(number: int) -> int:
    """As the wire has it, where -1 is the largest number."""
    return int(struct.unpack(">Q", struct.pack(">q", number))[0])


def _signed(number: int) -> int:
    return int(struct.unpack(">q", struct.pack(">Q", number))[0])
