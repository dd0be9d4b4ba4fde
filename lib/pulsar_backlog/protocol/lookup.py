"""Which broker serves a topic: asked, and held to the hosts of the cluster."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from pulsar_backlog.protocol.addresses import TLS_SCHEME, ClientError, addresses_of
from pulsar_backlog.protocol.connection import REASONS, Connection, Service
from pulsar_backlog.wire.proto.broker_commands_pb2 import BaseCommand, CommandLookupTopic, CommandLookupTopicResponse

_MAX_REDIRECTS = 10


def connection_to_owner(
    service: Service,
    topic: str,
    may_follow: Callable[[str], bool] = lambda host: True,
    check: Callable[[str], None] = lambda url: None,
) -> Connection:
    """A connection to the broker that serves a topic; asking makes one take it.

    Args:
        service: whom to ask.
        topic: full name.
        may_follow: whether a host, other than those of `service`, is one of the cluster's.
        check: told of each broker that is connected to next; may raise.

    Raises:
        ClientError: nobody serves it.
    """
    address, authoritative = service, False
    for _ in range(_MAX_REDIRECTS):
        connection = Connection(address)
        try:
            question = CommandLookupTopic(topic=topic, request_id=1, authoritative=authoritative)
            answer = connection.ask(BaseCommand.LOOKUP, question, BaseCommand.LOOKUP_RESPONSE).lookupTopicResponse
            url = _owner(service, topic, answer, may_follow)
        except ClientError:
            connection.close()
            raise
        if answer.response == CommandLookupTopicResponse.Connect and url == address.url:
            check(url)
            return connection
        connection.close()
        check(url)
        owner = Service(url, service.access, service.until)
        if answer.response == CommandLookupTopicResponse.Connect:
            return Connection(service, urlsplit(url).netloc) if answer.proxy_through_service_url else Connection(owner)
        address, authoritative = owner, answer.authoritative
    raise ClientError(topic, "failed", "too many redirects: brokers disagree on who owns the topic")


def _owner(service: Service, topic: str, answer: CommandLookupTopicResponse, may_follow: Callable[[str], bool]) -> str:
    if answer.response == CommandLookupTopicResponse.Failed:
        raise ClientError(topic, REASONS.get(answer.error, "failed"), f"no broker serves it: {answer.message[:300]}")
    # With TLS here, TLS there: neither token nor messages may travel in the clear because a broker says so.
    scheme = urlsplit(service.url).scheme
    is_tls = scheme == TLS_SCHEME
    url = answer.brokerServiceUrlTls if is_tls else answer.brokerServiceUrl
    if not url:
        raise ClientError(topic, "failed", f"its broker has no address {'with' if is_tls else 'without'} TLS")
    if len(addresses_of(url)) != 1 or urlsplit(url).scheme != scheme:
        raise ClientError(
            topic, "failed", f"a broker names {url!r} as the address where ours begins with {scheme}://; "
            "nothing was sent there: see the broker's advertised addresses and listeners",
        )  # fmt: skip
    host = urlsplit(url).hostname or ""
    hosts = {urlsplit(one).hostname for one in addresses_of(service.url)}
    if not answer.proxy_through_service_url and host not in hosts and not may_follow(host):
        raise ClientError(
            topic, "failed", f"a broker names host {host!r}, which is not in the cluster's own list of brokers; "
            f"nothing was sent there: if it is a broker of this cluster, add --broker-host {host}",
        )  # fmt: skip
    return url
