"""Encrypted payloads: AES-GCM under a data key that is stored beside the payload, wrapped once for each key name.

    field of MessageMetadata   holds
    encryption_keys            name of a wrapping key, data key wrapped with it; one for each name
    encryption_param           the initialisation vector, 12 bytes, another for every entry
    encryption_algo            often empty; the algorithm is always AES/GCM/NoPadding
    payload                    ciphertext, then the tag of 16 bytes

A data key (16, 24 or 32 bytes) is wrapped for an RSA key with OAEP (SHA-1, MGF1 with SHA-1) by all clients, or for an
elliptic-curve key by Java alone, with the ECIES of Bouncy Castle in stream mode:

    [ V: public point of a throwaway key ][ C: data key XOR stream ][ T: HMAC-SHA1, 20 bytes ]
    Z = x coordinate of ECDH(throwaway, wrapping key), as wide as the field
    K = KDF2-SHA1(V || Z): the MAC's key (16 bytes), then the stream
    T = HMAC-SHA1(MAC's key, C || 8 zero bytes), those being the length of an encoding that is absent

Every chunk is encrypted alone; a batch is encrypted whole. Nothing in errors quotes a key or a payload.

Source: apache/pulsar at 492eb456, pulsar-client-messagecrypto-bc/src/main/java/org/apache/pulsar/client/impl/crypto/
MessageCryptoBc.java; bcgit/bc-java core/src/main/java/org/bouncycastle/crypto/engines/IESEngine.java.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.metadata import EncryptionKey

DATA_KEY_BYTES = (16, 24, 32)

CODE_NO_KEY = "payload_no_key"
CODE_UNDECRYPTABLE = "payload_undecryptable"

PrivateKey: TypeAlias = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

_PEM_KEY = re.compile(rb"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?-----END \1-----", re.DOTALL)
OAEP = padding.OAEP(mgf=padding.MGF1(hashes.SHA1()), algorithm=hashes.SHA1(), label=None)  # noqa: S303 - the format's
_MAC_KEY_BYTES = 16
_MAC_BYTES = hashlib.sha1(usedforsecurity=False).digest_size
_NO_ENCODING = bytes(8)


def read_private_keys(pem: bytes) -> list[PrivateKey]:
    """The RSA and elliptic-curve private keys among PEM blocks; public keys and curve parameters are passed over.

    Raises:
        ValueError: a private key is damaged, needs a password, or is of another kind; the message holds no key.
    """
    keys: list[PrivateKey] = []
    for block in _PEM_KEY.finditer(pem):
        try:
            key = load_pem_private_key(block[0], password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise ValueError("a private key is damaged, needs a password, or is of an unknown kind") from None
        if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
            raise ValueError("a private key is neither RSA nor elliptic-curve")
        keys.append(key)
    return keys


class KeyRing:
    """Private keys by name. Wrapped data keys are unwrapped once each: that takes a millisecond.

    The key that has the name under which a data key was wrapped is tried first, then the others: names in topics are
    what a producer's key reader called them, and need not be the names of files.
    """

    MAX_REMEMBERED = 10_000
    """Wrapped keys remembered; Java makes a new data key every four hours for each producer."""

    def __init__(self, keys: Mapping[str, Sequence[PrivateKey]]) -> None:
        self._keys = keys
        self._unwrapped: dict[bytes, tuple[bytes, ...]] = {}

    def fingerprint(self) -> str:
        """A digest of the public halves, which tells key rings apart and gives nothing away."""
        public = sorted(
            key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
            for keys in self._keys.values()
            for key in keys
        )
        return hashlib.sha256(b"".join(public)).hexdigest()

    def __len__(self) -> int:
        """How many private keys there are."""
        return sum(map(len, self._keys.values()))

    def decrypt(
        self, payload: bytes | bytearray | memoryview, wrapped: Sequence[EncryptionKey], vector: bytes | None
    ) -> bytes:
        """The payload of one entry before encryption, proved by its tag.

        Raises:
            DecodeError: `payload_no_key` (none of the keys unwraps any data key) or `payload_undecryptable` (the tag
                does not agree: damaged bytes, or the data key of another message).
        """
        has_key = False
        for data_key in self._data_keys(wrapped):
            has_key = True
            try:
                return AESGCM(data_key).decrypt(vector or b"", payload, None)
            except (InvalidTag, ValueError):
                continue
        if has_key:
            raise _error(CODE_UNDECRYPTABLE, "a payload that its tag agrees with", f"{len(payload)} other bytes")
        raise _error(CODE_NO_KEY, "a private key for one of its key names", f"{len(self)} keys that do not fit")

    def _data_keys(self, wrapped: Sequence[EncryptionKey]) -> Iterator[bytes]:
        for item in wrapped:
            unwrapped = self._unwrapped.get(item.value)
            if unwrapped is None:
                unwrapped = tuple(self._unwrap(item))
                if len(self._unwrapped) >= self.MAX_REMEMBERED:
                    self._unwrapped.clear()
                self._unwrapped[item.value] = unwrapped
            yield from unwrapped

    def _unwrap(self, item: EncryptionKey) -> Iterator[bytes]:
        named = self._keys.get(item.key, ())
        others = (key for name, keys in self._keys.items() if name != item.key for key in keys)
        for key in (*named, *others):
            data_key = unwrap_data_key(key, item.value)
            if data_key is not None and len(data_key) in DATA_KEY_BYTES:
                yield data_key
                return


def unwrap_data_key(key: PrivateKey, wrapped: bytes) -> bytes | None:
    """The data key, or None where it was wrapped for another key or is damaged."""
    if isinstance(key, rsa.RSAPrivateKey):
        try:
            return key.decrypt(wrapped, OAEP)
        except ValueError:
            return None
    return _ecies_open(key, wrapped)


def _ecies_open(key: ec.EllipticCurvePrivateKey, wrapped: bytes) -> bytes | None:
    width = (key.curve.key_size + 7) // 8
    point_bytes = 1 + (width if wrapped[:1] in (b"\x02", b"\x03") else 2 * width)
    point, cipher, tag = wrapped[:point_bytes], wrapped[point_bytes:-_MAC_BYTES], wrapped[-_MAC_BYTES:]
    if len(wrapped) < point_bytes + _MAC_BYTES:
        return None
    try:
        other = ec.EllipticCurvePublicKey.from_encoded_point(key.curve, point)
        shared = key.exchange(ec.ECDH(), other)
    except ValueError:
        return None
    derived = _kdf2(point + shared, _MAC_KEY_BYTES + len(cipher))
    mac_key, stream = derived[:_MAC_KEY_BYTES], derived[_MAC_KEY_BYTES:]
    if not hmac.compare_digest(hmac.digest(mac_key, cipher + _NO_ENCODING, "sha1"), tag):
        return None
    return bytes(a ^ b for a, b in zip(cipher, stream, strict=True))


def _kdf2(secret: bytes, length: int) -> bytes:
    """ISO 18033-2 KDF2 with SHA-1: hashes of the secret and a counter from 1."""
    blocks = range(1, -(-length // _MAC_BYTES) + 1)
    hashed = (hashlib.sha1(secret + n.to_bytes(4), usedforsecurity=False).digest() for n in blocks)
    return b"".join(hashed)[:length]


def _error(code: str, expected: str, found: str) -> DecodeError:
    return DecodeError(code, offset=0, field="payload", expected=expected, found=found)
