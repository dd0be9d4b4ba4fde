"""The Pulsar client, opened with the same secrets and certificates as the admin API."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pulsar

from pulsar_backlog.cluster.access import Access
from pulsar_backlog.errors import SourceError, UsageError

CLIENT_NAME = "pulsar-backlog-repair"


class ClientError(SourceError):
    """The broker did not do what the client asked for."""


@contextmanager
def opened_client(service_url: str, access: Access) -> Iterator[pulsar.Client]:
    """A client that is closed at the end.

    Raises:
        UsageError: the address is not that of a broker's service.
    """
    parts = urlsplit(service_url)
    if parts.scheme not in ("pulsar", "pulsar+ssl") or not parts.hostname or parts.username:
        raise UsageError(f"--service-url {service_url}: expected pulsar://host:port or pulsar+ssl://host:port")
    client = pulsar.Client(
        service_url,
        authentication=_authentication(access),
        # An invalid token shows as a timeout only; with the client's 30 s each action would take that long.
        operation_timeout_seconds=max(1, int(access.timeout_seconds)),
        connection_timeout_ms=max(1000, int(access.timeout_seconds * 1000)),
        tls_trust_certs_file_path=str(access.ca_file) if access.ca_file else None,
        tls_validate_hostname=parts.scheme == "pulsar+ssl",
        logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull),  # it would print to standard output
    )
    try:
        yield client
    finally:
        client.close()


def _authentication(access: Access) -> pulsar.Authentication | None:
    if access.token is not None:
        return pulsar.AuthenticationToken(access.token)
    if access.cert_file is not None:
        return pulsar.AuthenticationTLS(str(access.cert_file), str(access.key_file or access.cert_file))
    return None


@contextmanager
def told(topic: str, what: str) -> Iterator[None]:
    """Turn the client's exceptions into one sentence each.

    Raises:
        ClientError: the client raised one.
    """
    try:
        yield
    except pulsar.Timeout as error:
        detail = f"{what}: no answer in time; see --service-url, and that the token is valid"
        raise ClientError(topic, "unreachable", detail) from error
    except (pulsar.AuthenticationError, pulsar.AuthorizationError) as error:
        raise ClientError(
            topic, "permission_denied", f"{what}: the role of the token or certificate may not"
        ) from error
    except pulsar.PulsarException as error:
        raise ClientError(topic, "failed", f"{what}: {error}") from error
