"""A broker of one topic, on loopback: it sends what it is told to send, and hides the rest."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from pulsar_backlog.wire.proto.broker_commands_pb2 import (
    BaseCommand,
    CommandConnected,
    CommandError,
    CommandLookupTopicResponse,
    CommandMessage,
    CommandSuccess,
    MessageIdData,
    ServerError,
)
from tests.listening import Listening

Position = tuple[int, int]


@dataclass
class ServedTopic(Listening):
    """A running broker.

    Attributes:
        entries: what it sends, by position.
        cut_after: entries after which each connection is cut, as long as there are any.
        slow_seconds: how long it waits before the first entry of a connection.
        owner: where lookups lead; None for itself.
        each_seconds: how long it waits before each entry.
        only: ledgers of which it sends anything, when a reader begins in another; None for all.
        last_readers: readers after which it goes away; None to stay.
        refuses: whether subscriptions are refused for want of permission.
        heard: every command that it got.
    """

    entries: Mapping[Position, bytes]
    cut_after: list[int] = field(default_factory=list)
    slow_seconds: float = 0.0
    owner: str | None = None
    refuses: bool = False
    each_seconds: float = 0.0
    only: set[int] | None = None
    last_readers: int | None = None
    heard: list[BaseCommand] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.listen()

    def take(self, connection: socket.socket) -> None:
        threading.Thread(target=self._until_gone, args=(connection,), daemon=True).start()

    def _until_gone(self, connection: socket.socket) -> None:
        with suppress(ConnectionError, BrokenPipeError):
            self._speak(connection)

    def _speak(self, connection: socket.socket) -> None:
        permits, waiting = 0, iter(())
        cut = None
        left = None
        with connection, connection.makefile("rb") as stream:
            while head := stream.read(8):
                size, length = struct.unpack(">ii", head)
                said = BaseCommand.FromString(stream.read(size - 4)[:length])
                self.heard.append(said)
                for answer in self._answers(said):
                    _send(connection, answer)
                if said.type == BaseCommand.SUBSCRIBE:
                    start = said.subscribe.start_message_id
                    if self.last_readers is not None:
                        self.last_readers -= 1
                        if self.last_readers == 0:
                            self.close()
                    after = (start.ledgerId, struct.unpack(">q", struct.pack(">Q", start.entryId))[0])
                    if self.only is not None and start.ledgerId not in self.only:
                        continue
                    waiting = iter([one for one in sorted(self.entries.items()) if one[0] > after])
                    cut = self.cut_after.pop(0) if self.cut_after else None
                    left = cut
                    time.sleep(self.slow_seconds)
                permits += said.flow.messagePermits
                while permits > 0:
                    if left == 0:
                        return
                    found = next(waiting, None)
                    if found is None:
                        break
                    (ledger_id, entry_id), data = found
                    id_ = MessageIdData(ledgerId=ledger_id, entryId=entry_id)
                    time.sleep(self.each_seconds)
                    message = CommandMessage(consumer_id=1, message_id=id_)
                    _send(connection, BaseCommand(type=BaseCommand.MESSAGE, message=message), data)
                    permits -= 1
                    left = None if left is None else left - 1

    def _answers(self, said: BaseCommand) -> Iterator[BaseCommand]:
        if said.type == BaseCommand.CONNECT:
            yield BaseCommand(type=BaseCommand.CONNECTED, connected=CommandConnected(server_version="x"))
        elif said.type == BaseCommand.LOOKUP:
            here = CommandLookupTopicResponse(
                response=CommandLookupTopicResponse.Connect, request_id=1, brokerServiceUrl=self.owner or self.url
            )
            yield BaseCommand(type=BaseCommand.LOOKUP_RESPONSE, lookupTopicResponse=here)
        elif said.type == BaseCommand.SUBSCRIBE and self.refuses:
            error = CommandError(request_id=2, error=ServerError.AuthorizationError, message="may not consume")
            yield BaseCommand(type=BaseCommand.ERROR, error=error)
        elif said.type == BaseCommand.SUBSCRIBE:
            yield BaseCommand(type=BaseCommand.SUCCESS, success=CommandSuccess(request_id=2))


def _send(connection: socket.socket, command: BaseCommand, more: bytes = b"") -> None:
    base = command.SerializeToString()
    connection.sendall(struct.pack(">ii", len(base) + len(more) + 4, len(base)) + base + more)
