"""What a topic holds after a position, entry by entry as it is stored: nothing is decrypted, joined or taken apart.

A reader of a client library shows an encrypted message to nobody without its key, and of a batch not what stands on the
batch. This one speaks the binary protocol itself. It leaves nothing behind: its subscription ends with its connection.
"""

from __future__ import annotations

import struct
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from google.protobuf.message import DecodeError as ProtobufError

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.repair.broker.client import ClientError
from pulsar_backlog.repair.broker.connection import Connection, Service, connection_to_owner
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.entry import read_frame
from pulsar_backlog.wire.proto.broker_commands_pb2 import (
    BaseCommand,
    CommandFlow,
    CommandGetLastMessageId,
    CommandSubscribe,
    MessageIdData,
)
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata

_NUMBER = 1
_PERMITS = 200
"""Messages that the broker may send ahead; of entries it sends as many or fewer."""


@dataclass(frozen=True)
class RawEntry:
    """An entry as its producer sent it.

    Attributes:
        metadata: all of it, unknown fields too.
        payload: as stored: compressed, encrypted.
    """

    metadata: MessageMetadata
    payload: bytes


def raw_entry(data: bytes) -> RawEntry:
    """The parts of an entry, without broker metadata and checksum.

    Raises:
        DecodeError: the bytes are no entry.
    """
    frame = read_frame(data)
    try:
        metadata = MessageMetadata.FromString(data[frame.metadata_offset : frame.payload_offset])
    except ProtobufError:
        raise DecodeError(
            "metadata_undecodable",
            offset=frame.metadata_offset,
            field="metadata",
            expected="valid protobuf",
            found=f"{frame.metadata_length} other bytes",
        ) from None
    return RawEntry(metadata, data[frame.payload_offset :])


def entries_after(
    service: Service, topic: str, after: Position, limit_seconds: float
) -> Iterator[tuple[Position, RawEntry]]:
    """Entries from after a position to the one that is the last when reading begins, in order.

    Those that no consumer is sent, markers and what transactions hide, do not come; nor does the rest when the time is
    over.

    Raises:
        ClientError: the topic cannot be read.
    """
    deadline = time.monotonic() + limit_seconds
    with closing(connection_to_owner(service, topic)) as connection:
        last = _subscribed(connection, topic, after)
        at = after
        allowed = 0
        while at < last and time.monotonic() < deadline:
            if allowed < _PERMITS // 2:
                more = _PERMITS - allowed  # a batch may have taken more than there were
                connection.tell(BaseCommand.FLOW, CommandFlow(consumer_id=_NUMBER, messagePermits=more))
                allowed += more
            found, data = connection.wait(BaseCommand.MESSAGE)
            at = _position(found.message.message_id)
            try:
                entry = raw_entry(data)
            except DecodeError as error:
                raise ClientError(topic, "failed", f"entry {at[0]}:{at[1]} cannot be read: {error}") from None
            allowed -= max(1, entry.metadata.num_messages_in_batch)
            if at > after:
                yield at, entry


def _subscribed(connection: Connection, topic: str, after: Position) -> Position:
    """Subscribe for as long as the connection lasts; the position of the last entry, entry id -1 when there is none."""
    start = MessageIdData(ledgerId=_unsigned(after[0]), entryId=_unsigned(after[1]))
    wanted = CommandSubscribe(
        topic=topic, subscription=f"pulsar-backlog-reader-{uuid.uuid4().hex[:10]}", subType=CommandSubscribe.Exclusive,
        consumer_id=_NUMBER, request_id=2, durable=False, start_message_id=start, force_topic_creation=False,
    )  # fmt: skip
    connection.ask(BaseCommand.SUBSCRIBE, wanted, BaseCommand.SUCCESS)
    question = CommandGetLastMessageId(consumer_id=_NUMBER, request_id=3)
    answer = connection.ask(BaseCommand.GET_LAST_MESSAGE_ID, question, BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE)
    return _position(answer.getLastMessageIdResponse.last_message_id)


def _position(id_: MessageIdData) -> Position:
    return _signed(id_.ledgerId), _signed(id_.entryId)


def _unsigned(number: int) -> int:
    """As the wire has it, where -1 is the largest number."""
    return int(struct.unpack(">Q", struct.pack(">q", number))[0])


def _signed(number: int) -> int:
    return int(struct.unpack(">q", struct.pack(">Q", number))[0])
