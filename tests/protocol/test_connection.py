"""Finding a topic's broker, and what is said when there is none; the servers are scripts on loopback."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from pulsar_backlog.cluster.access import Access
from pulsar_backlog.protocol.addresses import ClientError
from pulsar_backlog.protocol.connection import Connection, Service
from pulsar_backlog.protocol.lookup import connection_to_owner
from pulsar_backlog.wire.proto.broker_commands_pb2 import (
    BaseCommand,
    CommandConnected,
    CommandError,
    CommandLookupTopicResponse,
)
from tests.broker.identity import Identity, make_identity
from tests.listening import Listening

TOPIC = "persistent://t/n/one"
ACCESS = Access(token="secret", timeout_seconds=2)
CONNECTED = BaseCommand(
    type=BaseCommand.CONNECTED, connected=CommandConnected(server_version="x", max_message_size=999)
)
PING = BaseCommand(type=BaseCommand.PING)
Answers = Sequence[BaseCommand | bytes]


class Script(Listening):
    """Answers each connection with the same commands, one for each that it gets; a PING asks for a PONG besides.

    Attributes:
        answers: of each connection.
        connections: how many there were.
        heard: what was sent to it.
    """

    def __init__(self, answers: Answers, identity: Identity | None = None) -> None:
        self.answers = answers
        self.connections = 0
        self.heard: list[BaseCommand] = []
        self.listen(identity)

    def take(self, connection: socket.socket) -> None:
        self.connections += 1
        connection = self.secured(connection)
        with connection, connection.makefile("rb") as stream:
            for answer in self.answers:
                head = stream.read(8)
                if len(head) < 8:
                    break
                size, length = struct.unpack(">ii", head)
                self.heard.append(BaseCommand.FromString(stream.read(size - 4)[:length]))
                raw = answer if isinstance(answer, bytes) else answer.SerializeToString()
                framed = raw if isinstance(answer, bytes) else struct.pack(">ii", len(raw) + 4, len(raw)) + raw
                connection.sendall(framed)


@contextmanager
def script(*answers: BaseCommand | bytes, identity: Identity | None = None) -> Iterator[Script]:
    running = Script(answers, identity)
    try:
        yield running
    finally:
        running.close()


def found(kind: CommandLookupTopicResponse.LookupType, url: str = "", **other: object) -> BaseCommand:
    """An answer to a lookup."""
    answer = CommandLookupTopicResponse(response=kind, request_id=1, brokerServiceUrl=url, **other)  # type: ignore[arg-type]
    return BaseCommand(type=BaseCommand.LOOKUP_RESPONSE, lookupTopicResponse=answer)


def owner(script: Script) -> Connection:
    return connection_to_owner(Service(script.url, ACCESS), TOPIC)


def test_a_broker_that_sends_elsewhere_is_followed() -> None:
    with script(CONNECTED) as last:
        there = found(CommandLookupTopicResponse.Connect, last.url)
        with script(CONNECTED, there) as second:
            redirect = found(CommandLookupTopicResponse.Redirect, second.url, authoritative=True)
            with script(CONNECTED, redirect) as first:
                connection = owner(first)
        assert connection.max_message_bytes == 999
        connection.close()
    assert not first.heard[1].lookupTopic.authoritative
    assert second.heard[1].lookupTopic.authoritative
    assert (last.heard[0].connect.auth_method_name, last.heard[0].connect.auth_data) == ("token", b"secret")
    assert len(last.heard) == 1


def test_through_a_proxy_the_broker_is_named_and_not_connected_to() -> None:
    there = found(CommandLookupTopicResponse.Connect, "pulsar://inside:6650", proxy_through_service_url=True)
    with script(CONNECTED, there) as proxy:
        owner(proxy).close()
    first, _, second = proxy.heard[:3]
    assert not first.connect.HasField("proxy_to_broker_url")
    assert second.connect.proxy_to_broker_url == "inside:6650"


def test_of_several_addresses_one_that_answers_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = closed.getsockname()[1]
    with script(CONNECTED) as broker:
        url = broker.url.replace("127.", f"127.0.0.1:{nobody},127.", 1)
        Connection(Service(url, ACCESS)).close()
    with pytest.raises(ClientError, match="check the service URL"):
        Connection(Service(f"pulsar://127.0.0.1:{nobody}", ACCESS))


def test_a_ping_in_between_is_answered() -> None:
    with script(PING, CONNECTED) as broker:
        Connection(Service(broker.url, ACCESS)).close()
    assert [one.type for one in broker.heard] == [BaseCommand.CONNECT, BaseCommand.PONG]


REFUSED = BaseCommand(type=BaseCommand.ERROR, error=CommandError(request_id=1, message="who are you"))


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([REFUSED], "the broker refuses: who are you"),
        ([b"HTTP/1.1 400 Bad Request\r\n\r\n"], "the other side is not a broker"),
        ([struct.pack(">ii", 5, 1) + b"\xff"], "the connection broke"),
        ([], "the connection broke"),
        ([CONNECTED, found(CommandLookupTopicResponse.Failed, message="nobody")], "no broker serves it: nobody"),
        ([CONNECTED, found(CommandLookupTopicResponse.Connect)], "its broker has no address without TLS"),
    ],
)
def test_why_there_is_no_connection(answers: Answers, words: str) -> None:
    with script(*answers) as broker, pytest.raises(ClientError) as told:
        owner(broker)
    assert words in str(told.value)
    assert "secret" not in str(told.value)


def test_brokers_that_send_in_circles_are_left() -> None:
    with script(CONNECTED) as broker:
        broker.answers = (CONNECTED, found(CommandLookupTopicResponse.Redirect, broker.url))
        with pytest.raises(ClientError, match="too many redirects"):
            owner(broker)


Lookup = CommandLookupTopicResponse


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return make_identity(tmp_path_factory.mktemp("keys") / "identity")


def secured(identity: Identity) -> Access:
    return Access(token="secret", ca_file=identity.ca, timeout_seconds=2)


@pytest.mark.parametrize("through_proxy", [False, True])
@pytest.mark.parametrize("kind", [Lookup.Connect, Lookup.Redirect])
@pytest.mark.parametrize("scheme", ["pulsar", "http", ""])
def test_with_tls_no_broker_sends_the_token_where_there_is_none(
    identity: Identity, kind: Lookup.LookupType, scheme: str, through_proxy: bool
) -> None:
    with script(CONNECTED) as listening, script(identity=identity) as broker:
        clear = listening.url.replace("pulsar:", f"{scheme}:" if scheme else "")
        said = found(kind, "pulsar://right:6650", brokerServiceUrlTls=clear, proxy_through_service_url=through_proxy)
        broker.answers = (CONNECTED, said)
        with pytest.raises(ClientError) as told:
            connection_to_owner(Service(broker.url, secured(identity)), TOPIC)
        assert "where ours begins with pulsar+ssl://" in str(told.value)
        assert "nothing was sent there" in str(told.value)
        assert (listening.connections, broker.connections) == (0, 1)


def test_a_broker_that_is_reached_by_tls_is_followed_by_tls(identity: Identity) -> None:
    with script(CONNECTED, identity=identity) as last, script(identity=identity) as first:
        first.answers = (CONNECTED, found(Lookup.Connect, "pulsar://no:1", brokerServiceUrlTls=last.url))
        connection_to_owner(Service(first.url, secured(identity)), TOPIC).close()
        assert last.heard[0].connect.auth_data == b"secret"


def test_a_second_broker_and_a_second_question_are_trusted_no_more(identity: Identity) -> None:
    """The first answer is good, the one after it is not: of a redirect, and when the way is asked for anew."""
    with script(CONNECTED) as listening, script(identity=identity) as second, script(identity=identity) as first:
        first.answers = (CONNECTED, found(Lookup.Redirect, brokerServiceUrlTls=second.url))
        second.answers = (CONNECTED, found(Lookup.Connect, brokerServiceUrlTls=second.url))
        service = Service(first.url, secured(identity))
        connection_to_owner(service, TOPIC).close()
        second.answers = (CONNECTED, found(Lookup.Connect, brokerServiceUrlTls=listening.url))
        with pytest.raises(ClientError, match="nothing was sent there"):
            connection_to_owner(service, TOPIC)
        assert listening.connections == 0


@pytest.mark.parametrize(
    "url",
    [
        "pulsar+ssl://127.0.0.1:1", "http://127.0.0.1:1", "pulsar://", "pulsar://who@127.0.0.1:1", "pulsar://a:1,b:1",
        "pulsar://127.0.0.1:port", "pulsar://127.0.0.1:99999", "pulsar://[::1", "pulsar://a\x1b]0;b:1", "127.0.0.1:1",
    ],
)  # fmt: skip
def test_an_address_that_is_none_or_of_another_kind(url: str) -> None:
    with script(CONNECTED, found(Lookup.Connect, url)) as broker, pytest.raises(ClientError) as told:
        owner(broker)
    assert "where ours begins with pulsar://" in str(told.value)
    assert str(told.value).isprintable()


FAR = "pulsar://192.0.2.1:6650"  # RFC 5737: nobody's


@pytest.mark.parametrize("kind", [Lookup.Connect, Lookup.Redirect])
def test_a_token_that_stays_on_this_machine_is_sent_nowhere_else(kind: Lookup.LookupType) -> None:
    """A tunnel to a broker ends here; the address that the broker has in its own network does not."""
    with script(CONNECTED, found(kind, FAR)) as broker, pytest.raises(ClientError) as told:
        owner(broker)
    assert f"{FAR}: " in str(told.value)
    assert "add --token-without-tls" in str(told.value)
    with pytest.raises(ClientError, match="add --token-without-tls"):
        Connection(Service(FAR, ACCESS))
