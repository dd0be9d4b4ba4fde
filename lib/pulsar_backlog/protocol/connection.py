"""A connection to a broker in Pulsar's binary protocol: as much of it as publishing and reading need.

    frame      [size i32][command size i32][BaseCommand], and for SEND and MESSAGE an entry
    entry      [0e01][CRC-32C of the rest u32][metadata size i32][MessageMetadata][payload]

The client library is not used to publish: when a connection breaks it sends again, by itself, what was not answered.
The first chunks of a message are stored twice then, and many clients lose it. Here a broken connection ends an attempt.

Source: https://github.com/apache/pulsar/blob/492eb456/pulsar-common/src/main/java/org/apache/pulsar/common/protocol/
Commands.java
"""

from __future__ import annotations

import select
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from urllib.parse import urlsplit

import numpy as np
from google.protobuf.message import DecodeError, Message

from pulsar_backlog.cluster.access import Access
from pulsar_backlog.cluster.tls import broken, tls_context, tls_remedy
from pulsar_backlog.protocol import frames
from pulsar_backlog.protocol.addresses import TLS_SCHEME, ClientError, NoConnectionError, addresses_of
from pulsar_backlog.wire.arrays import Bytes, Int64s
from pulsar_backlog.wire.proto.broker_commands_pb2 import (
    BaseCommand,
    CommandConnect,
    CommandPong,
    FeatureFlags,
    ServerError,
)

CLIENT_VERSION = "pulsar-backlog"
_PROTOCOL_VERSION = 19
_MAX_ANSWER_BYTES = 1 << 20
"""Of an answer; one that brings an entry may be larger by that."""

_DEFAULT_MESSAGE_BYTES = 5 * 1024 * 1024
_FIELDS = {BaseCommand.LOOKUP: "lookupTopic", BaseCommand.GET_LAST_MESSAGE_ID: "getLastMessageId"}
_LEAST_SECONDS = 0.05  # for which no time is left: the system takes 0 for no wait at all
_RECEIVE_BYTES = 256 * 1024
"""Asked of the system at once: many small entries come with one call."""

REASONS = {
    ServerError.AuthenticationError: "permission_denied",
    ServerError.AuthorizationError: "permission_denied",
    ServerError.TopicNotFound: "not_found",
}
_ERRORS = (BaseCommand.ERROR, BaseCommand.SEND_ERROR)
_CLOSED = {BaseCommand.CLOSE_PRODUCER: "producer: try again", BaseCommand.CLOSE_CONSUMER: "reader: try again"}


@dataclass(frozen=True)
class Service:
    """Where brokers are reached, and with what.

    Attributes:
        url: `pulsar://` or `pulsar+ssl://`; of several addresses the first that answers is taken.
        access: token, certificates, limits; its timeout is for a whole answer, however it comes.
        until: moment (monotonic) until which answers are waited for at most; None where their own time is the limit.
    """

    url: str
    access: Access
    until: float | None = None

    def deadline(self) -> float:
        """The moment until which an answer may come that is waited for from now on."""
        return min(time.monotonic() + self.access.timeout_seconds, self.until or inf)


@dataclass(frozen=True)
class Messages:
    """Messages that came together.

    Attributes:
        buffer: what came.
        found: a column for each message, rows as in `frames.LEDGER` and following; places count from `buffer[0]`.
    """

    buffer: Bytes
    found: Int64s


class Connection:
    """One connection, one command at a time.

    Args:
        service: whom to connect to.
        behind: `host:port` of a broker, where `service` is a proxy that leads to it.

    Raises:
        ClientError: there is none (`NoConnectionError`), or the broker does not let us in.
    """

    def __init__(self, service: Service, behind: str | None = None) -> None:
        self._service = service
        self._url = service.url
        self._socket = _connected(service)
        self._deadline = service.deadline()
        self._held = bytearray()
        self._at = 0
        self.max_message_bytes = _DEFAULT_MESSAGE_BYTES
        token = service.access.token
        method = "token" if token is not None else "tls" if service.access.cert_file is not None else "none"
        hello = CommandConnect(
            client_version=CLIENT_VERSION,
            protocol_version=_PROTOCOL_VERSION,
            auth_method_name=method,
            auth_data=(token or "").encode(),
            proxy_to_broker_url=behind,
            # Sent where a broker exposes what it adds to entries (exposingBrokerEntryMetadataToClientEnabled).
            feature_flags=FeatureFlags(supports_broker_entry_metadata=True),
        )
        try:
            answer = self.ask(BaseCommand.CONNECT, hello, BaseCommand.CONNECTED)
        except ClientError as error:
            self.close()
            if error.reason in ("unreachable", "interrupted"):
                raise NoConnectionError(error.uri, error.reason, error.detail) from None
            raise
        self.max_message_bytes = answer.connected.max_message_size or _DEFAULT_MESSAGE_BYTES

    def close(self) -> None:
        """End it; the broker closes what was opened on it."""
        self._socket.close()

    def allow(self, seconds: float) -> None:
        """From now on each answer may take so long, whatever the service says of the whole."""
        self._service = Service(self._url, replace(self._service.access, timeout_seconds=seconds))

    def ask(self, kind: BaseCommand.Type, body: Message, answer: BaseCommand.Type, more: bytes = b"") -> BaseCommand:
        """Send a command, and what follows it, and wait for its answer.

        Raises:
            ClientError: the broker refuses, or the connection broke; then whether it was done is not known.
        """
        self.tell(kind, body, more)
        return self.wait(answer)[0]

    def tell(self, kind: BaseCommand.Type, body: Message, more: bytes = b"") -> None:
        """Send a command, and what follows it, and wait for nothing.

        Raises:
            ClientError: the connection broke.
        """
        self._deadline = self._service.deadline()
        with self._as_client_errors():
            self._send(kind, body, more)

    def wait(self, kind: BaseCommand.Type) -> tuple[BaseCommand, bytes]:
        """The next command of a kind, and what follows it; commands of others, but for errors, are passed over.

        Raises:
            ClientError: the broker refuses what was asked, closed what was opened, or the connection broke.
        """
        self._deadline = self._service.deadline()
        while True:
            if answer := self._next(kind):
                return answer

    def messages_within(self, seconds: float, least_rate: int | None = None) -> Messages | None:
        """The messages that are here, at least one; None where nothing comes for so long.

        Args:
            seconds: how long to wait for the first byte.
            least_rate: bytes a second at which a message may come at least; it has the time of an answer besides.

        Raises:
            ClientError: as of `wait`.
        """
        quiet_at = time.monotonic() + seconds
        while not self._is_quiet(quiet_at - time.monotonic()):
            self._deadline = time.monotonic() + self._service.access.timeout_seconds
            with self._as_client_errors():
                self._fill(4)
                self._deadline += self._frame_bytes() / least_rate if least_rate else 0.0
                self._fill(4 + self._frame_bytes())
                buffer = np.frombuffer(bytes(memoryview(self._held)[self._at :]), dtype=np.uint8)
            places = np.empty((frames.COLUMNS, buffer.size // frames.LEAST_BYTES), dtype=np.int64)
            count, end = frames.find_messages(buffer, places)
            if count:
                self._at += end
                return Messages(buffer, places[:, :count])
            if self._next(BaseCommand.MESSAGE):
                raise ClientError(self._url, "failed", "a message of the broker cannot be read: it names no position")
        return None

    def _next(self, kind: BaseCommand.Type) -> tuple[BaseCommand, bytes] | None:
        """The next command and what follows it; None where it is of another kind."""
        with self._as_client_errors():
            frame, more = self._received()
            if frame.type == kind:
                return frame, more
            if frame.type == BaseCommand.PING:
                self._send(BaseCommand.PONG, CommandPong())
            elif frame.type in _ERRORS:
                error = frame.error if frame.type == BaseCommand.ERROR else frame.send_error
                reason = REASONS.get(error.error, "failed")
                raise ClientError(self._url, reason, f"the broker refuses: {error.message[:300]}")
            elif frame.type in _CLOSED:
                raise ClientError(self._url, "interrupted", f"the broker closed the {_CLOSED[frame.type]}")
            return None

    def _is_quiet(self, seconds: float) -> bool:
        """Whether nothing comes for so long; what comes is not taken."""
        if len(self._held) > self._at or (isinstance(self._socket, ssl.SSLSocket) and self._socket.pending()):
            return False
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        return not waiting.poll(max(0.0, seconds) * 1000)

    @contextmanager
    def _as_client_errors(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            raise ClientError(self._url, "unreachable", "no answer in time: try again") from None
        except (OSError, DecodeError) as error:
            raise ClientError(self._url, *broken(error, self._url, self._service.access)) from None

    def _send(self, kind: BaseCommand.Type, body: Message, more: bytes = b"") -> None:
        command = BaseCommand(type=kind)
        getattr(command, _FIELDS.get(kind) or BaseCommand.Type.Name(kind).lower()).CopyFrom(body)
        base = command.SerializeToString()
        self._limit()
        self._socket.sendall(struct.pack(">ii", 4 + len(base) + len(more), len(base)) + base + more)

    def _received(self) -> tuple[BaseCommand, bytes]:
        self._fill(4 + self._frame_bytes())
        frame = bytes(memoryview(self._held)[self._at + 4 : self._at + 4 + self._frame_bytes()])
        self._at += 4 + len(frame)
        (length,) = struct.unpack(">i", frame[:4])
        return BaseCommand.FromString(frame[4 : 4 + length]), frame[4 + length :]

    def _frame_bytes(self) -> int:
        """Bytes of the next frame behind its size."""
        self._fill(4)
        (size,) = struct.unpack_from(">i", self._held, self._at)
        if not 4 <= size <= _MAX_ANSWER_BYTES + self.max_message_bytes:
            raise ConnectionError("the other side is not a broker")
        return int(size)

    def _fill(self, size: int) -> None:
        """Have that many bytes here that were not taken yet."""
        while len(self._held) - self._at < size:
            if self._at:
                del self._held[: self._at]
                self._at = 0
            self._limit()
            part = self._socket.recv(max(_RECEIVE_BYTES, size - len(self._held)))
            if not part:
                raise ConnectionError("the other side closed it")
            self._held += part

    def _limit(self) -> None:
        """Let the system wait no longer than the answer may take as a whole."""
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        self._socket.settimeout(remaining)


def _connected(service: Service) -> socket.socket:
    is_tls = urlsplit(service.url).scheme == TLS_SCHEME
    last: OSError | None = None
    addresses, deadline = addresses_of(service.url), service.deadline()
    for number, url in enumerate(addresses):
        if against := service.access.against_token(url):
            raise ClientError(url, "failed", against)
        host, port = urlsplit(url).hostname, urlsplit(url).port
        try:
            remaining = max(_LEAST_SECONDS, deadline - time.monotonic())
            plain = socket.create_connection((host, port), remaining / (len(addresses) - number))
        except OSError as error:
            last = error
            continue
        if not is_tls:
            return plain
        try:
            return tls_context(service.access).wrap_socket(plain, server_hostname=host)
        except OSError as error:
            plain.close()
            kind = NoConnectionError if isinstance(error, TimeoutError | ConnectionError) else ClientError
            detail = f"no TLS ({_words(error)}): {tls_remedy(error, service.access)}"
            raise kind(service.url, "failed", detail) from None
    raise NoConnectionError(service.url, "unreachable", f"no connection ({last}): check the service URL")


def _words(error: OSError) -> str:
    return error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else str(error)
