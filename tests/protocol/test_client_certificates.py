"""A broker that wants a certificate of its clients: who gives none, or another one, reads what to give."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pulsar_backlog.cluster.access import Access
from pulsar_backlog.protocol.addresses import ClientError
from pulsar_backlog.protocol.connection import Connection, Service
from tests.broker.identity import Identity, make_identity
from tests.listening import Listening


class Strict(Listening):
    """Shakes hands with who has a certificate of this authority, and says no more."""

    def __init__(self, identity: Identity, version: ssl.TLSVersion) -> None:
        self.listen(identity)
        assert self._tls is not None
        self._tls.verify_mode = ssl.CERT_REQUIRED
        self._tls.load_verify_locations(identity.ca)
        self._tls.maximum_version = version

    def take(self, connection) -> None:  # type: ignore[no-untyped-def]
        with suppress(OSError):
            self.secured(connection).recv(1)
        connection.close()


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return make_identity(tmp_path_factory.mktemp("tls") / "identity")


@pytest.fixture(params=[ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def broker(ours: Identity, request: pytest.FixtureRequest) -> Iterator[Strict]:
    server = Strict(ours, request.param)
    yield server
    server.close()


def test_none(broker: Strict, ours: Identity) -> None:
    with pytest.raises(ClientError, match="give --cert-file and --key-file") as caught:
        Connection(Service(broker.url, Access(ca_file=ours.ca)))
    assert "--ca-file" not in str(caught.value)


def test_one_of_another_authority(broker: Strict, ours: Identity, tmp_path: Path) -> None:
    other = make_identity(tmp_path / "other")
    access = Access(ca_file=ours.ca, cert_file=other.client_cert, key_file=other.client_key)
    with pytest.raises(ClientError, match="the certificate of --cert-file"):
        Connection(Service(broker.url, access))


def test_an_authority_that_is_not_given(broker: Strict) -> None:
    with pytest.raises(ClientError, match="authority's certificate with --ca-file"):
        Connection(Service(broker.url, Access()))
