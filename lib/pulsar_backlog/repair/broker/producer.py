"""A producer that stores a message as one entry or as chunks, each once or not at all.

Every chunk is sent when the one before is stored. Encryption is that of `wire/encryption.py`, each entry for itself.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from google_crc32c import value as crc32c

from pulsar_backlog.protocol.addresses import ClientError
from pulsar_backlog.protocol.connection import Connection, Service
from pulsar_backlog.protocol.lookup import connection_to_owner
from pulsar_backlog.repair.broker.client import Keys
from pulsar_backlog.wire.encryption import OAEP
from pulsar_backlog.wire.proto.broker_commands_pb2 import BaseCommand, CommandProducer, CommandSend
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata

_NUMBER = 1
BEYOND_BYTES = 9 * 1024
"""By how much an entry may exceed the largest message: brokers and bookies take 10 KiB more, their heads included."""

_CHUNK_ROOM_BYTES = 100
"""What a chunk's own fields, the largest numbers in them, and the tag of its encryption take at most."""

_DATA_KEY_BITS = 256
_VECTOR_BYTES = 12


@dataclass(frozen=True)
class Producer:
    """A producer that is connected.

    Attributes:
        topic: full name.
        name: as deduplication knows it.
        last_stored: sequence id of the last message that deduplication knows of it; -1 when it knows none, or is off.
        keys: to encrypt with; None leaves payloads as they are given.
    """

    connection: Connection
    topic: str
    name: str
    last_stored: int
    keys: Keys | None

    def send(self, entries: Iterable[tuple[MessageMetadata, bytes]]) -> None:
        """Store a message, entry by entry.

        Args:
            entries: metadata and payload as stored, of one message.

        Raises:
            ClientError: the broker refused, or the connection broke; then whether it is stored is not known.
        """
        for head, part in entries:
            raw = head.SerializeToString()
            rest = struct.pack(">i", len(raw)) + raw + part
            command = CommandSend(producer_id=_NUMBER, sequence_id=head.sequence_id)
            if head.HasField("num_messages_in_batch"):
                command.num_messages = head.num_messages_in_batch  # the broker's index counts by it
            if head.HasField("highest_sequence_id"):
                command.highest_sequence_id = head.highest_sequence_id
            if head.HasField("chunk_id"):
                command.is_chunk = True  # deduplication goes by it
            more = b"\x0e\x01" + struct.pack(">I", crc32c(rest)) + rest
            self.connection.ask(BaseCommand.SEND, command, BaseCommand.SEND_RECEIPT, more)

    def as_stored(self, entries: Sequence[tuple[MessageMetadata, bytes]]) -> Sequence[tuple[MessageMetadata, bytes]]:
        """The entries of a message that cannot be cut anew.

        Raises:
            ClientError: one is larger than the broker takes; nothing was sent.
        """
        room = self.connection.max_message_bytes + BEYOND_BYTES
        if any(head.ByteSize() + len(part) > room for head, part in entries):
            raise ClientError(
                self.topic,
                "failed",
                "with the properties that name its origin, an entry is larger than the broker accepts",
            )
        return entries

    def entries(self, metadata: MessageMetadata, payload: bytes) -> Iterator[tuple[MessageMetadata, bytes]]:
        """The message as it is stored: whole, or as chunks that share all but their number.

        Raises:
            ClientError: it has no room; nothing was sent.
        """
        whole = MessageMetadata()
        whole.CopyFrom(metadata)
        whole.producer_name = self.name.encode()
        seal = _seal(self.keys) if self.keys else None
        if seal:
            seal.describe(whole)
        uuid = f"{self.name}-{metadata.sequence_id}".encode()
        room = self.connection.max_message_bytes - whole.ByteSize() - len(uuid) - _CHUNK_ROOM_BYTES
        if room <= 0:
            raise ClientError(self.topic, "failed", "key and properties alone are larger than the broker accepts")
        if len(payload) > room:
            whole.uuid, whole.num_chunks_from_msg = uuid, -(-len(payload) // room)
            whole.total_chunk_msg_size = len(payload)
        return _cut(whole, payload, room, seal)


@contextmanager
def opened_producer(
    service: Service, name: str, topic: str, keys: Keys | None, *, encrypted: bool
) -> Iterator[Producer]:
    """A producer on a topic. Only one of a name can be connected, so two applies at once cannot publish both.

    Args:
        service: of brokers.
        name: of the producer.
        topic: full name.
        keys: to encrypt with; None leaves payloads as they are given.
        encrypted: whether all it sends is encrypted; topics may demand that.

    Raises:
        ClientError: the broker does not let it in, or it is connected already.
    """
    connection = connection_to_owner(service, topic)
    try:
        wanted = CommandProducer(
            topic=topic, producer_id=_NUMBER, request_id=2, producer_name=name, user_provided_producer_name=True,
            encrypted=encrypted,
        )  # fmt: skip
        try:
            answer = connection.ask(BaseCommand.PRODUCER, wanted, BaseCommand.PRODUCER_SUCCESS).producer_success
        except ClientError as error:
            detail = f"connecting producer {name!r} (only one apply of a plan can run): {error}"
            raise ClientError(topic, error.reason, detail) from error
        yield Producer(connection, topic, name, answer.last_sequence_id, keys)
    finally:
        connection.close()


@dataclass(frozen=True)
class _Seal:
    """One data key, for one message.

    Attributes:
        wrapped: data key, by the names of the keys that wrap it.
    """

    wrapped: Mapping[str, bytes]
    cipher: AESGCM

    def describe(self, metadata: MessageMetadata) -> None:
        """Say in the metadata how to decrypt."""
        for name, wrapped in self.wrapped.items():
            metadata.encryption_keys.add(key=name.encode(), value=wrapped)
        metadata.encryption_param = bytes(_VECTOR_BYTES)

    def sealed(self, metadata: MessageMetadata, payload: bytes) -> bytes:
        """An encrypted payload; its vector goes into the metadata."""
        metadata.encryption_param = os.urandom(_VECTOR_BYTES)
        return self.cipher.encrypt(metadata.encryption_param, payload, None)


def _cut(
    whole: MessageMetadata, payload: bytes, room: int, seal: _Seal | None
) -> Iterator[tuple[MessageMetadata, bytes]]:
    for chunk_id in range(max(1, whole.num_chunks_from_msg)):
        head = MessageMetadata()
        head.CopyFrom(whole)
        if whole.HasField("uuid"):
            head.chunk_id = chunk_id
        part = payload[chunk_id * room : (chunk_id + 1) * room]
        yield head, seal.sealed(head, part) if seal else part


def _seal(keys: Keys) -> _Seal:
    data_key = AESGCM.generate_key(_DATA_KEY_BITS)
    return _Seal({name: key.encrypt(data_key, OAEP) for name, key in keys.public.items()}, AESGCM(data_key))
