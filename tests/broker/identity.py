"""Keys, certificates and tokens for one broker, made anew for each and thrown away with it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Identity:
    """Files of one certificate authority, a server, a client named `admin`, and a secret that signs tokens."""

    folder: Path

    @property
    def ca(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def server_cert(self) -> Path:
        return self.folder / "server.pem"

    @property
    def server_key(self) -> Path:
        return self.folder / "server.key"

    @property
    def client_cert(self) -> Path:
        return self.folder / "admin.pem"

    @property
    def client_key(self) -> Path:
        return self.folder / "admin.key"

    @property
    def token_secret(self) -> Path:
        return self.folder / "token.secret"

    def token(self, role: str) -> Path:
        """File with a token of a role."""
        path = self.folder / f"{role}.token"
        if not path.exists():  # the broker reads its own again and again, and must never find half of it
            path.write_text(_token(role, self.token_secret.read_bytes()))
        return path


def encryption_keys(folder: Path) -> tuple[Path, Path]:
    """Files of a public key and its private key, to encrypt messages with."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public, private = folder / "public.pem", folder / "private.pem"
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    return public, private


def make_identity(folder: Path) -> Identity:
    """Make all files in `folder`."""
    folder.mkdir()
    identity = Identity(folder)
    identity.token_secret.write_bytes(secrets.token_bytes(32))
    authority = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    root = _certificate("test authority", authority, None)
    identity.ca.write_bytes(root.public_bytes(serialization.Encoding.PEM))
    for name, cert, key_file in (
        ("127.0.0.1", identity.server_cert, identity.server_key),
        ("admin", identity.client_cert, identity.client_key),
    ):
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        cert.write_bytes(_certificate(name, key, (root, authority)).public_bytes(serialization.Encoding.PEM))
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
    return identity


def _certificate(
    name: str, key: rsa.RSAPrivateKey, issuer: tuple[x509.Certificate, rsa.RSAPrivateKey] | None
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begin = datetime.now(UTC) - timedelta(hours=1)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    signer = issuer[1] if issuer else key
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    builder = builder.add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
    )
    if issuer:
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    else:
        usage = x509.KeyUsage(*(name in (5, 6) for name in range(9)))  # signs certificates and revocation lists
        builder = builder.add_extension(usage, critical=True)
    return builder.sign(signer, hashes.SHA256())


def _token(role: str, secret: bytes) -> str:
    """A JSON web token, HS256."""
    head, body = (_base64(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, {"sub": role}))
    signature = hmac.digest(secret, f"{head}.{body}".encode(), hashlib.sha256)
    return f"{head}.{body}.{_base64(signature)}"


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
