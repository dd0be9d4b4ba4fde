"""Encrypted payloads as Java and C++ wrote them, opened with throwaway keys."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.codecs import decompress
from pulsar_backlog.wire.encryption import KeyRing, read_private_keys, unwrap_data_key
from pulsar_backlog.wire.entry import Entry, decode_entry
from pulsar_backlog.wire.metadata import EncryptionKey

DATA = Path(__file__).parents[1] / "data" / "export"
BACKLOG = Path(__file__).parents[1] / "data" / "backlog"


def private(*names: str) -> KeyRing:
    return KeyRing({name: read_private_keys((DATA / "keys" / f"{name}.pem").read_bytes()) for name in names})


def entries(folder: Path, ledger_id: int) -> list[tuple[Entry, bytes]]:
    """Entries of a ledger and their payloads, walked by hand."""
    (path,) = folder.glob(f"*-ledger-{ledger_id}")
    data, at, found = path.read_bytes(), 128, []
    while at + 12 <= len(data):
        body = data[at + 12 : at + 12 + int.from_bytes(data[at : at + 4])]
        entry = decode_entry(body)
        found.append((entry, body[entry.layout.payload_offset :]))
        at += 12 + len(body)
    return found


def opened(entry: Entry, payload: bytes, ring: KeyRing) -> bytes:
    metadata = entry.metadata
    return ring.decrypt(payload, metadata.encryption_keys or (), metadata.encryption_param)


def single_of_java() -> tuple[Entry, bytes]:
    return entries(DATA / "objects", 57)[0]


def test_rsa_as_java_wrote_it() -> None:
    truth = [json.loads(line) for line in (DATA / "expected" / "truth.jsonl").read_text().splitlines()]
    java = [row for row in truth if row["l"] == 57 and row["client"] == "java-4.0.8"]
    wanted = {row["e"]: row["sha256"] for row in java if "first" not in row}
    ring = private("test-only-priv")
    found = {}
    for number, (entry, payload) in enumerate(entries(DATA / "objects", 57)):
        if entry.metadata.uuid is None:
            plain = opened(entry, payload, ring)
            codec, size = entry.metadata.compression or "NONE", entry.metadata.uncompressed_size or 0
            found[number] = hashlib.sha256(decompress(codec, plain, size, 1 << 20)).hexdigest()
    assert found == wanted
    assert len(found) == 3  # none, LZ4, ZSTD


def test_any_of_several_key_names_opens() -> None:
    entry, payload = entries(BACKLOG / "objects", 271)[0]
    assert sorted(key.key for key in entry.metadata.encryption_keys or ()) == ["labkey", "labkey2"]
    first, second = (
        opened(entry, payload, private("test-only-priv")),
        opened(entry, payload, private("test-only-priv2")),
    )
    assert first == second


@pytest.mark.parametrize("curve", ["narrow", "wide"])
def test_ecies_as_pulsars_own_class_wrote_it(curve: str) -> None:
    vector = json.loads((DATA / "expected" / "java-ecies.json").read_text())
    wrapped = [EncryptionKey(name, bytes.fromhex(value), {}) for name, value in vector["keys"].items()]
    plain = private(curve).decrypt(bytes.fromhex(vector["payload"]), wrapped, bytes.fromhex(vector["param"]))
    assert plain.decode() == vector["plain"]


@pytest.mark.parametrize("curve", ["narrow", "wide"])
def test_no_damaged_wrapped_key_is_taken_for_one(curve: str) -> None:
    vector = json.loads((DATA / "expected" / "java-ecies.json").read_text())
    wrapped = bytes.fromhex(vector["keys"][curve])
    (key,) = read_private_keys((DATA / "keys" / f"{curve}.pem").read_bytes())
    for at in range(len(wrapped)):
        damaged = bytearray(wrapped)
        damaged[at] ^= 1
        assert unwrap_data_key(key, bytes(damaged)) is None
    for length in range(len(wrapped)):
        assert unwrap_data_key(key, wrapped[:length]) is None


@pytest.mark.parametrize("names", [(), ("test-only-priv2",), ("narrow",)])
def test_without_the_right_key_it_says_so(names: tuple[str, ...]) -> None:
    entry, payload = single_of_java()
    with pytest.raises(DecodeError) as caught:
        opened(entry, payload, private(*names))
    assert caught.value.code == "payload_no_key"


def test_every_flipped_byte_of_payload_or_vector_is_noticed() -> None:
    entry, payload = single_of_java()
    ring = private("test-only-priv")
    keys, vector = entry.metadata.encryption_keys or (), entry.metadata.encryption_param or b""
    for at in range(len(payload)):
        damaged = bytearray(payload)
        damaged[at] ^= 1
        with pytest.raises(DecodeError) as caught:
            ring.decrypt(bytes(damaged), keys, vector)
        assert caught.value.code == "payload_undecryptable"
    for wrong in (None, b"", vector[:-1], vector + b"\0", bytes(12)):
        with pytest.raises(DecodeError) as caught:
            ring.decrypt(payload, keys, wrong)
        assert caught.value.code == "payload_undecryptable"


def test_a_truncated_payload_is_noticed() -> None:
    entry, payload = single_of_java()
    for length in range(len(payload)):
        with pytest.raises(DecodeError):
            opened(entry, payload[:length], private("test-only-priv"))


def test_errors_quote_neither_key_nor_payload() -> None:
    entry, payload = single_of_java()
    with pytest.raises(DecodeError) as caught:
        opened(entry, payload[:-1], private("test-only-priv"))
    assert caught.value.context == b""
    assert payload[:4].hex() not in str(caught.value)


def test_keys_of_other_kinds_are_refused_without_being_shown() -> None:
    pem = ed25519.Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(ValueError, match="neither RSA nor elliptic-curve"):
        read_private_keys(pem)
    damaged = (DATA / "keys" / "test-only-priv.pem").read_bytes().replace(b"M", b"N", 3)
    with pytest.raises(ValueError, match="damaged") as caught:
        read_private_keys(damaged)
    assert "BEGIN" not in str(caught.value)


def test_public_keys_and_curve_parameters_are_passed_over() -> None:
    pem = (DATA / "keys" / "narrow.pem").read_bytes()
    assert b"EC PARAMETERS" in pem
    assert len(read_private_keys(pem)) == 1
    assert read_private_keys(b"-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----\n") == []


def test_fingerprints_tell_key_rings_apart() -> None:
    assert private("narrow").fingerprint() == private("narrow").fingerprint()
    assert len({private(*names).fingerprint() for names in ((), ("narrow",), ("wide",), ("narrow", "wide"))}) == 4
