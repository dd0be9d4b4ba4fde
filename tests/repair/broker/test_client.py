"""The client library, which follows what a broker answers: it must not carry a token or a message off in the clear."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pulsar
import pytest

from pulsar_backlog.cluster.access import Access
from pulsar_backlog.cluster.admin_http import AdminHttp
from pulsar_backlog.errors import UsageError
from pulsar_backlog.protocol.addresses import ClientError
from pulsar_backlog.protocol.connection import Service
from pulsar_backlog.repair.broker.client import opened_client
from pulsar_backlog.repair.broker.cluster import Door
from tests.broker.identity import Identity, make_identity
from tests.broker.protocol import CONNECTED, LOOKUP, LOOKUP_RESPONSE, PING, PONG, _field, _parse
from tests.listening import Listening

TOPIC = "persistent://t/n/one"
CONNECT, PARTITIONS, PARTITIONS_ANSWER = 2, 21, 22


class Hostile(Listening):
    """A broker that sends whoever looks a topic up to another address.

    Attributes:
        target: that address; answered as the one with TLS and the one without.
        lookups: how often it was asked.
    """

    def __init__(self, identity: Identity | None) -> None:
        self.target = b""
        self.lookups = 0
        self.listen(identity)

    def take(self, connection: socket.socket) -> None:
        threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, accepted: socket.socket) -> None:
        with suppress(OSError):
            accepted = self.secured(accepted)
            with accepted, accepted.makefile("rb") as stream:
                while len(head := stream.read(8)) == 8:
                    size, length = struct.unpack(">ii", head)
                    command = _parse(stream.read(size - 4)[:length])
                    kind = command[1][0]
                    assert isinstance(kind, int)
                    body = command[kind][0]
                    assert isinstance(body, bytes)
                    accepted.sendall(self._answer(kind, body))

    def _answer(self, kind: int, body: bytes) -> bytes:
        if kind == CONNECT:
            return _command(CONNECTED, _field(1, b"x") + _field(2, 19))
        if kind == PARTITIONS:
            return _command(PARTITIONS_ANSWER, _field(1, 0) + _field(2, _parse(body)[2][0]) + _field(3, 0))
        if kind == LOOKUP:
            self.lookups += 1
            asked = _parse(body)[2][0]
            return _command(
                LOOKUP_RESPONSE,
                _field(1, self.target) + _field(2, self.target) + _field(3, 1) + _field(4, asked) + _field(5, 1),
            )
        return _command(PONG, b"") if kind == PING else b""


def _command(kind: int, body: bytes) -> bytes:
    base = _field(1, kind) + _field(kind, body)
    return struct.pack(">ii", len(base) + 4, len(base)) + base


class Listener(Listening):
    """Takes connections without a word, and keeps what comes first on each."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.listen()

    def take(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(2)
            self.heard.append(connection.recv(4096))


@pytest.fixture
def listener() -> Iterator[Listener]:
    with closing(Listener()) as running:
        yield running


def test_with_tls_it_asks_every_address_for_tls(listener: Listener, tmp_path: Path) -> None:
    identity = make_identity(tmp_path / "identity")
    access = Access(token="secret-token", ca_file=identity.ca, timeout_seconds=1)
    with closing(Hostile(identity)) as broker:
        broker.target = listener.url.encode()
        with opened_client(broker.url, access) as client, pytest.raises(pulsar.PulsarException):
            client.create_reader(TOPIC, pulsar.MessageId.earliest)
        assert broker.lookups
    assert listener.heard  # it did connect: a handshake of TLS, that nobody answered
    assert all(words[:2] == b"\x16\x03" and b"secret-token" not in words for words in listener.heard)


def test_a_token_that_stays_on_this_machine_is_not_led_away() -> None:
    access = Access(token="secret-token", timeout_seconds=1)
    with closing(Hostile(None)) as broker, closing(AdminHttp("http://127.0.0.1:1", access)) as http:
        broker.target = b"pulsar://192.0.2.1:6650"
        with opened_client(broker.url, access) as client:
            door = Door(http, client, Service(broker.url, access), "who", lambda: 0)
            with pytest.raises(ClientError, match=r"pulsar://192\.0\.2\.1:6650: .*add --token-without-tls"):
                door.client_for(TOPIC)
        assert broker.lookups == 1


def test_a_token_is_not_given_to_a_client_without_tls_unasked() -> None:
    far = "pulsar://127.0.0.1:6650,192.0.2.1:6650"
    with pytest.raises(UsageError, match=r"^--service-url pulsar://127.*add --token-without-tls") as raised:
        opened_client(far, Access("secret-token")).__enter__()
    assert "secret-token" not in str(raised.value)
    with opened_client(far, Access("secret-token", token_without_tls=True)):
        pass
    with opened_client(far, Access()):
        pass


@pytest.mark.parametrize("url", ["http://h:1", "pulsar://", "pulsar://h:port", "pulsar://me@h:1", "pulsar://[h", "h:1"])
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(UsageError, match="expected pulsar://host:port"):
        opened_client(url, Access()).__enter__()
