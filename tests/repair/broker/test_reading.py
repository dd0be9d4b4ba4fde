"""Raw entries of a topic, as a broker sends them, and copies found among them; the broker is a script on loopback."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator, Sequence

import pytest

from pulsar_backlog.cluster.access import Access
from pulsar_backlog.protocol.addresses import ClientError
from pulsar_backlog.protocol.connection import Service
from pulsar_backlog.repair.applying.republish import StoredCopy, find_stored
from pulsar_backlog.repair.applying.sealed_entries import sealed_sha256
from pulsar_backlog.repair.broker.reading import RawEntry, entries_after
from pulsar_backlog.repair.values import Action, Plan
from pulsar_backlog.wire.proto.broker_commands_pb2 import (
    BaseCommand,
    CommandConnected,
    CommandGetLastMessageIdResponse,
    CommandLookupTopicResponse,
    CommandMessage,
    CommandSuccess,
    MessageIdData,
)
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.wire.encode import entry

TOPIC = "persistent://t/n/one"
Stored = tuple[tuple[int, int], RawEntry]


def raw(payload: bytes, batch: int | None = None) -> RawEntry:
    metadata = MessageMetadata(producer_name=b"p", sequence_id=1, publish_time=1, num_messages_in_batch=batch)
    return RawEntry(metadata, payload)


class Served:
    """A broker that has some entries, and sends each only when there are permits left for it.

    Attributes:
        heard: what was sent to it.
        last: position that it calls the last.
    """

    def __init__(self, entries: Sequence[Stored], last: tuple[int, int], cut_after: int | None = None) -> None:
        self.heard: list[BaseCommand] = []
        self._entries, self._last, self._cut_after = list(entries), last, cut_after
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"pulsar://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def service(self) -> Service:
        return Service(self.url, Access(token="secret", timeout_seconds=2))

    def _serve(self) -> None:
        with self._listener:
            connection, _ = self._listener.accept()
        permits = sent = 0
        with connection, connection.makefile("rb") as stream:
            while head := stream.read(8):
                size, length = struct.unpack(">ii", head)
                said = BaseCommand.FromString(stream.read(size - 4)[:length])
                self.heard.append(said)
                permits += said.flow.messagePermits
                for answer in self._answers(said):
                    _send(connection, answer)
                while permits > 0 and sent < len(self._entries):
                    if sent == self._cut_after:
                        return
                    (ledger_id, entry_id), one = self._entries[sent]
                    id_ = MessageIdData(ledgerId=ledger_id, entryId=entry_id)
                    message = BaseCommand(
                        type=BaseCommand.MESSAGE, message=CommandMessage(consumer_id=1, message_id=id_)
                    )
                    _send(connection, message, entry(one.metadata.SerializeToString(), one.payload))
                    permits -= max(1, one.metadata.num_messages_in_batch)
                    sent += 1

    def _answers(self, said: BaseCommand) -> Iterator[BaseCommand]:
        if said.type == BaseCommand.CONNECT:
            yield BaseCommand(type=BaseCommand.CONNECTED, connected=CommandConnected(server_version="x"))
        elif said.type == BaseCommand.LOOKUP:
            here = CommandLookupTopicResponse(
                response=CommandLookupTopicResponse.Connect, request_id=1, brokerServiceUrl=self.url
            )
            yield BaseCommand(type=BaseCommand.LOOKUP_RESPONSE, lookupTopicResponse=here)
        elif said.type == BaseCommand.SUBSCRIBE:
            yield BaseCommand(type=BaseCommand.SUCCESS, success=CommandSuccess(request_id=2))
        elif said.type == BaseCommand.GET_LAST_MESSAGE_ID:
            last = MessageIdData(ledgerId=self._last[0], entryId=self._last[1] % (1 << 64))
            answer = CommandGetLastMessageIdResponse(last_message_id=last, request_id=3)
            yield BaseCommand(type=BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE, getLastMessageIdResponse=answer)
            yield BaseCommand(type=BaseCommand.PING)


def _send(connection: socket.socket, command: BaseCommand, more: bytes = b"") -> None:
    base = command.SerializeToString()
    connection.sendall(struct.pack(">ii", len(base) + len(more) + 4, len(base)) + base + more)


def read(served: Served, after: tuple[int, int] = (5, -1)) -> list[Stored]:
    return list(entries_after(served.service, TOPIC, after, 20))


def test_all_entries_up_to_the_last_come_as_they_are() -> None:
    stored = [((5, 0), raw(b"a")), ((5, 1), raw(b"b" * 2_000_000)), ((7, 0), raw(b"c"))]
    served = Served(stored, (7, 0))
    assert read(served) == stored
    (wanted,) = (said.subscribe for said in served.heard if said.type == BaseCommand.SUBSCRIBE)
    # It makes neither a topic nor a subscription that stays.
    assert (wanted.topic, wanted.durable, wanted.force_topic_creation) == (TOPIC, False, False)
    assert wanted.start_message_id.entryId == (1 << 64) - 1  # -1: from the ledger's first entry on


def test_nothing_is_waited_for_where_nothing_is() -> None:
    assert read(Served([], (5, -1)), (5, -1)) == []
    assert read(Served([], (5, 3)), (5, 3)) == []


def test_what_a_broker_sends_of_before_is_left_out() -> None:
    stored = [((5, 0), raw(b"a")), ((5, 1), raw(b"b"))]
    assert read(Served(stored, (5, 1)), (5, 0)) == stored[1:]


def test_more_is_asked_for_after_large_batches_and_many_entries() -> None:
    stored = [((5, n), raw(b"x", 1000 if n % 7 == 0 else None)) for n in range(600)]
    assert read(Served(stored, (5, 599))) == stored


def test_a_connection_that_breaks_is_no_end() -> None:
    stored = [((5, n), raw(b"x")) for n in range(3)]
    with pytest.raises(ClientError, match="the connection broke"):
        read(Served(stored, (5, 2), cut_after=1))


def test_a_broker_that_sends_less_than_it_has_is_no_end() -> None:
    with pytest.raises(ClientError, match="no answer in time"):
        read(Served([((5, 0), raw(b"x"))], (5, 2)))


def copy(action: str, uuid: str | None = None, chunk_id: int = 0, payload: bytes = b"sealed") -> RawEntry:
    """What a repair published for an action: a chunk of two, or an entry."""
    one = raw(payload)
    one.metadata.properties.add(key=b"pulsar-backlog.action", value=action.encode())
    if uuid is not None:
        one.metadata.uuid, one.metadata.chunk_id, one.metadata.num_chunks_from_msg = uuid.encode(), chunk_id, 2
    return one


def test_the_copy_of_an_action_is_found_among_others() -> None:
    action = Action(0, "republish", TOPIC, "r")
    plan = Plan("c", (action,))
    mine, other = plan.action_id(action), "another-0"
    whole = [copy(mine, "p-2", 0), copy(mine, "p-2", 1)]
    sealed = sealed_sha256(whole)

    def found(*entries: RawEntry) -> StoredCopy | None:
        stored = [((5, n), one) for n, one in enumerate(entries)]
        return find_stored(Served(stored, (5, len(stored) - 1)).service, plan, action, (5, -1), sealed, 20)

    # Before it: what is nobody's, another action's, and the first chunk of an attempt that was killed.
    before = [raw(b"x"), copy(other), copy(other, "o-1", 0), copy(other, "o-1", 1), copy(mine, "p-1", 0)]
    assert found(*before, whole[0], copy(other), whole[1]) == StoredCopy((5, 7), True)
    assert found(*before, whole[0]) is None  # it is not whole
    assert found(*before) is None
    assert found(*before, copy(mine, "p-2", 1)) is None  # chunks of two attempts are no message
    assert found(*before, copy(mine, "p-2", 0), copy(mine, "p-2", 1, b"changed")) == StoredCopy((5, 6), False)
    assert found(copy(mine)) == StoredCopy((5, 0), False)
