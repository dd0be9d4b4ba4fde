"""The ways to one cluster and to the ledgers that were offloaded from it, and who we are to them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import pulsar

from pulsar_backlog.cluster.admin_http import AdminHttp
from pulsar_backlog.cluster.admin_rest import AdminRest
from pulsar_backlog.ledgers.live.service import Live
from pulsar_backlog.ledgers.store import Source, open_source
from pulsar_backlog.protocol.connection import Service
from pulsar_backlog.protocol.lookup import connection_to_owner
from pulsar_backlog.repair.broker.client import Keys


@dataclass(frozen=True)
class Ledgers:
    """Where offloaded ledgers lie, where that is not what a plan says.

    Attributes:
        source: folder or bucket; None for the plan's own.
        endpoint: address of an S3 service other than AWS; plans name none.
        live: brokers, for entries that an audit read live.
    """

    source: str | None = None
    endpoint: str | None = None
    live: Live | None = None

    def opened(self, of_plan: str) -> Source:
        """What to read.

        Raises:
            UsageError: there is no such folder, or it is no address.
        """
        return open_source(self.source or of_plan, self.endpoint, live=self.live)


@dataclass(frozen=True)
class Door:
    """The ways to one cluster, and who we are to it.

    Attributes:
        http: admin API, for changes.
        client: Pulsar client, to acknowledge and to read back; ask for it with `client_for`.
        service: of brokers, to publish.
        who: user and host, for the journal.
        now_ms: clock.
        keys: to encrypt what was encrypted, and to read it back.
        ledgers: where entries are read again that are published as they are stored.
        sleep: waits.
    """

    http: AdminHttp
    client: pulsar.Client
    service: Service
    who: str
    now_ms: Callable[[], int]
    keys: Keys | None = None
    ledgers: Ledgers = Ledgers()
    sleep: Callable[[float], None] = time.sleep

    def client_for(self, topic: str) -> pulsar.Client:
        """The client, when nothing sends it where we would not go.

        It follows every address that a broker answers. Where its own URL asks for TLS, it asks for TLS of all of them.
        Where a token stays on this machine, a broker must not lead it away; so the way is looked at first.

        Raises:
            ClientError: the way leads elsewhere, or there is none.
        """
        if self.service.access.stays_here(self.service.url):
            connection_to_owner(self.service, topic).close()
        return self.client

    @property
    def rest(self) -> AdminRest:
        """Admin API, for reading."""
        return AdminRest(self.http)
