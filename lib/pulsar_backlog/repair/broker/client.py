"""The Pulsar client, opened with the same secrets and certificates as the admin API."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pulsar
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from pulsar_backlog.cluster.access import Access
from pulsar_backlog.errors import UsageError
from pulsar_backlog.known_secrets import remember_secret
from pulsar_backlog.protocol.addresses import TLS_SCHEME, ClientError, addresses_of

CLIENT_NAME = "pulsar-backlog-repair"


@dataclass(frozen=True)
class Keys:
    """With what messages are encrypted, and read back.

    Attributes:
        public: wrap the keys of messages, by the names under which consumers know them.
        public_file: PEM of one of them.
        private_file: PEM of one of them, any.
    """

    public: Mapping[str, rsa.RSAPublicKey]
    public_file: Path
    private_file: Path

    @property
    def reader(self) -> pulsar.CryptoKeyReader:
        """As the client takes them; it tries the private key on every name."""
        return pulsar.CryptoKeyReader(str(self.public_file), str(self.private_file))


def read_keys(names: Sequence[str], public_files: Sequence[Path], private_file: Path | None) -> Keys | None:
    """Keys as options name them; None when none is named.

    Args:
        names: of keys, each once.
        public_files: one for each name, in the same order.
        private_file: of one of them.

    Raises:
        UsageError: something is missing, a file cannot be read, or a public key is no RSA key.
    """
    if not names and not public_files and private_file is None:
        return None
    if not names or len(set(names)) != len(public_files) or len(names) != len(public_files) or private_file is None:
        raise UsageError(
            "give --encryption-key and --public-key-file in pairs, each name once, and one --private-key-file"
        )
    remember_secret(_pem(private_file).decode(errors="replace"))
    public = {name: _public_key(path) for name, path in zip(names, public_files, strict=True)}
    return Keys(public, public_files[0], private_file)


def _public_key(path: Path) -> rsa.RSAPublicKey:
    try:
        public = load_pem_public_key(_pem(path))
    except (ValueError, UnsupportedAlgorithm):
        public = None
    if not isinstance(public, rsa.RSAPublicKey):
        raise UsageError(f"{path}: this is not an RSA public key in a PEM file")
    return public


def _pem(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


@contextmanager
def opened_client(service_url: str, access: Access) -> Iterator[pulsar.Client]:
    """A client that is closed at the end.

    Raises:
        UsageError: the address is not that of a broker's service, or the token must not go there.
    """
    addresses = addresses_of(service_url)
    if not addresses:
        raise UsageError(f"--service-url {service_url}: expected pulsar://host:port or pulsar+ssl://host:port")
    for address in addresses:
        if against := access.against_token(address):
            raise UsageError(f"--service-url {service_url}: {against}")
    client = pulsar.Client(
        service_url,
        authentication=_authentication(access),
        # An invalid token shows as a timeout only; with the client's 30 s each action would take that long.
        operation_timeout_seconds=max(1, int(access.timeout_seconds)),
        connection_timeout_ms=max(1000, int(access.timeout_seconds * 1000)),
        tls_trust_certs_file_path=str(access.ca_file) if access.ca_file else None,
        tls_validate_hostname=urlsplit(service_url).scheme == TLS_SCHEME,
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
def broker_failures(topic: str, what: str) -> Iterator[None]:
    """Turn the client's exceptions into one sentence each.

    Raises:
        ClientError: the client raised one.
    """
    try:
        yield
    except pulsar.Timeout as error:
        detail = f"{what}: no answer in time; see --service-url, and that the token is valid"
        raise ClientError(topic, "unreachable", detail) from error
    except pulsar.ConnectError as error:
        detail = f"{what}: no connection; see --service-url, and with TLS that the broker's certificate names this host"
        trust = "and descends from --ca-file, and that it trusts the one of --cert-file"
        raise ClientError(topic, "unreachable", f"{detail} {trust}") from error
    except (pulsar.AuthenticationError, pulsar.AuthorizationError) as error:
        raise ClientError(
            topic, "permission_denied", f"{what}: the role of the token or certificate has no permission"
        ) from error
    except pulsar.PulsarException as error:
        raise ClientError(topic, "failed", f"{what}: {error}") from error
