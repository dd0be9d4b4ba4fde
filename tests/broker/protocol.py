"""Pulsar's binary protocol, spoken by hand: what no client library would send.

A frame is `[total i32][command size i32][BaseCommand]`, and for SEND and MESSAGE also an entry, `[0e01][CRC-32C]
[metadata size i32][metadata][payload]`. BaseCommand holds its type in field 1 and the command itself in the field
numbered as its type.

Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-common/src/main/proto/PulsarApi.proto
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from google_crc32c import value as crc32c

from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata

CONNECT, CONNECTED, PRODUCER, SEND, SEND_RECEIPT, SEND_ERROR, ERROR = 2, 3, 5, 6, 7, 8, 14
SUBSCRIBE, MESSAGE, FLOW, SUCCESS = 4, 9, 11, 13
PRODUCER_SUCCESS, PING, PONG = 17, 18, 19
LOOKUP, LOOKUP_RESPONSE = 23, 24
_PROTOCOL_VERSION = 19
_TIMEOUT_SECONDS = 20

Fields = dict[int, list[int | bytes]]


class RefusedError(Exception):
    """The broker answered with an error."""


class Connection:
    """One connection to a broker, one command at a time."""

    def __init__(self, service_url: str, token: str) -> None:
        address = urlsplit(service_url)
        self._socket = socket.create_connection((address.hostname, address.port), timeout=_TIMEOUT_SECONDS)
        self._producers = 0
        self.ask(
            CONNECT,
            CONNECTED,
            _field(1, b"tests") + _field(4, _PROTOCOL_VERSION) + _field(5, b"token") + _field(3, token.encode()),
        )

    def close(self) -> None:
        self._socket.close()

    def producer(self, topic: str, name: str) -> Producer:
        """A producer with a name of one's choice."""
        self._producers += 1
        number = self._producers
        # A topic is owned only after someone looked it up.
        self.ask(LOOKUP, LOOKUP_RESPONSE, _field(1, topic.encode()) + _field(2, 1000 + number))
        body = _field(1, topic.encode()) + _field(2, number) + _field(3, number) + _field(4, name.encode())
        self.ask(PRODUCER, PRODUCER_SUCCESS, body + _field(9, 1))
        return Producer(self, number)

    def entries(self, topic: str, count: int) -> list[tuple[tuple[int, int], bytes]]:
        """The first entries of a topic with their positions, each from its checksum on."""
        self.ask(LOOKUP, LOOKUP_RESPONSE, _field(1, topic.encode()) + _field(2, 1000))
        start = _field(1, 0) + _field(2, 0)
        body = _field(1, topic.encode()) + _field(2, b"by-hand") + _field(3, 0) + _field(4, 1) + _field(5, 1)
        self.ask(SUBSCRIBE, SUCCESS, body + _field(8, 0) + _field(9, start))
        flow = _field(1, FLOW) + _field(FLOW, _field(1, 1) + _field(2, 1000))
        self._socket.sendall(struct.pack(">ii", len(flow) + 4, len(flow)) + flow)
        found = []
        while len(found) < count:
            kind, fields, entry = self._receive()
            if kind == MESSAGE:
                at = fields[2][0]
                assert isinstance(at, bytes)
                ledger, number = _parse(at)[1][0], _parse(at)[2][0]
                assert isinstance(ledger, int)
                assert isinstance(number, int)
                found.append(((ledger, number), entry))
        return found

    def ask(self, command: int, answer: int, body: bytes, payload: bytes = b"") -> Fields:
        """Send a command and read up to its answer."""
        base = _field(1, command) + _field(command, body)
        frame = struct.pack(">i", len(base)) + base + payload
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        while True:
            kind, fields, _ = self._receive()
            if kind == PING:
                pong = _field(1, PONG) + _field(PONG, b"")
                self._socket.sendall(struct.pack(">ii", len(pong) + 4, len(pong)) + pong)
            elif kind == answer:
                return fields
            elif kind in (ERROR, SEND_ERROR):
                raise RefusedError(str(fields))

    def _receive(self) -> tuple[int, Fields, bytes]:
        """A command's type, its fields, and what follows it."""
        (size,) = struct.unpack(">i", self._exactly(4))
        frame = self._exactly(size)
        (length,) = struct.unpack(">i", frame[:4])
        base = _parse(frame[4 : 4 + length])
        kind = base[1][0]
        assert isinstance(kind, int)
        body = base.get(kind, [b""])[0]
        assert isinstance(body, bytes)
        return kind, _parse(body), frame[4 + length :]

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            part = self._socket.recv(size)
            if not part:
                raise RefusedError("the broker closed the connection")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


class Producer:
    """A producer that sends whatever metadata and payload it is given."""

    def __init__(self, connection: Connection, number: int) -> None:
        self._connection = connection
        self._number = number

    def send(self, metadata: MessageMetadata, payload: bytes) -> tuple[int, int]:
        """Store one entry; its position."""
        head = metadata.SerializeToString()
        rest = struct.pack(">i", len(head)) + head + payload
        body = _field(1, self._number) + _field(2, metadata.sequence_id)
        if metadata.total_chunk_msg_size > 1:
            body += _field(7, 1)  # is_chunk, as real clients say it; deduplication goes by it
        receipt = self._connection.ask(SEND, SEND_RECEIPT, body, b"\x0e\x01" + struct.pack(">I", crc32c(rest)) + rest)
        position = receipt[3][0]
        assert isinstance(position, bytes)
        fields = _parse(position)
        ledger, entry = fields[1][0], fields[2][0]
        assert isinstance(ledger, int)
        assert isinstance(entry, int)
        return ledger, entry


@contextmanager
def connected(service_url: str, token: str) -> Iterator[Connection]:
    """A connection that is closed at the end."""
    connection = Connection(service_url, token)
    try:
        yield connection
    finally:
        connection.close()


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _parse(body: bytes) -> Fields:
    """Fields by number: integers and byte strings; the protocol's answers hold nothing else."""
    fields: Fields = {}
    at = 0
    while at < len(body):
        key, at = _read_varint(body, at)
        value: int | bytes
        value, at = _read_varint(body, at)
        if key & 7 == 2:
            value, at = body[at : at + value], at + value
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _read_varint(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
