"""What a topic holds after a position, entry by entry as it is stored: nothing is decrypted, joined or taken apart.

A reader of a client library shows an encrypted message to nobody without its key, and of a batch not what stands on the
batch. This one speaks the binary protocol itself. It leaves nothing behind: its subscription ends with its connection.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from google.protobuf.message import DecodeError as ProtobufError

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.protocol.addresses import ClientError
from pulsar_backlog.protocol.connection import Service
from pulsar_backlog.protocol.lookup import connection_to_owner
from pulsar_backlog.protocol.reader import Reader
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.entry import read_layout
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata


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
    layout = read_layout(data)
    try:
        metadata = MessageMetadata.FromString(data[layout.metadata_offset : layout.payload_offset])
    except ProtobufError:
        raise DecodeError(
            "metadata_undecodable",
            offset=layout.metadata_offset,
            field="metadata",
            expected="valid protobuf",
            found=f"{layout.metadata_length} other bytes",
        ) from None
    return RawEntry(metadata, data[layout.payload_offset :])


def entries_after(
    service: Service, topic: str, after: Position, limit_seconds: float, *, whole: bool = False
) -> Iterator[tuple[Position, RawEntry]]:
    """Entries from after a position to the one that is the last when reading begins, in order.

    Those that no consumer is sent, markers and what transactions hide, do not come; nor does the rest when the time is
    over; with `whole` that is an error.

    Raises:
        ClientError: the topic cannot be read.
    """
    deadline = time.monotonic() + limit_seconds
    with closing(connection_to_owner(service, topic)) as connection:
        reader = Reader(connection, topic, after)
        last, at = reader.last(), after
        while at < last and time.monotonic() < deadline:
            at, data = reader.next()
            try:
                entry = raw_entry(data)
            except DecodeError as error:
                raise ClientError(topic, "failed", f"entry {at[0]}:{at[1]} cannot be read: {error}") from None
            if at > after:
                yield at, entry
        if whole and at < last:
            raise ClientError(topic, "failed", f"not read to its end within {limit_seconds:.0f} seconds")
