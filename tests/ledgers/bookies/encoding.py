"""Writers of entry logs and journals, for tests only: they share no code with the readers."""

from __future__ import annotations

import hashlib
import hmac
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

import google_crc32c

DIGESTS = ("CRC32C", "CRC32", "HMAC", "DUMMY")


def record(
    ledger: int, entry: int, payload: bytes, *, length: int | None = None, lac: int | None = None,
    digest: str = "CRC32C", password: bytes = b"",
) -> bytes:  # fmt: skip
    """A record with its size, as entry logs and journals hold it."""
    head = struct.pack(">4q", ledger, entry, entry - 1 if lac is None else lac, 100 if length is None else length)
    return sized(head + digest_bytes(digest, head + payload, password) + payload)


def digest_bytes(digest: str, covered: bytes, password: bytes = b"") -> bytes:
    if digest == "CRC32C":
        return struct.pack(">I", google_crc32c.value(covered))
    if digest == "CRC32":
        return struct.pack(">Q", zlib.crc32(covered))
    if digest == "HMAC":
        return hmac.new(hashlib.sha1(b"mac" + password).digest(), covered, hashlib.sha1).digest()
    return b""


def sized(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def ledgers_map(ledgers: Iterable[tuple[int, int]]) -> bytes:
    pairs = list(ledgers)
    return sized(struct.pack(">qqi", -1, -2, len(pairs)) + b"".join(struct.pack(">qq", *pair) for pair in pairs))


def entry_log(records: Iterable[bytes], mapped: Iterable[tuple[int, int]] | None = None) -> bytes:
    """An entry log, with a map of ledgers and their bytes if one is given."""
    body = b"".join(records)
    if mapped is None:
        return struct.pack(">4siqi", b"BKLO", 1, 0, 0).ljust(1024, b"\0") + body
    pairs = list(mapped)
    head = struct.pack(">4siqi", b"BKLO", 1, 1024 + len(body), len(pairs)).ljust(1024, b"\0")
    return head + body + ledgers_map(pairs)


def direct_log(flushes: Iterable[bytes], tail: int = 0) -> bytes:
    """An entry log as direct I/O writes it: flushes padded to 4096 with F0, and a tail of zeros made ahead."""
    head = struct.pack(">4siqi", b"BKLO", 1, 0, 0).ljust(1024, b"\0")
    out = head + struct.pack(">iq", 4096 - 1024 - 4, -1).ljust(4096 - 1024, b"\0")
    for flush in flushes:
        out += flush
        out += b"\xf0" * (-len(out) % 4096)
    return out + bytes(tail)


def journal(records: Iterable[bytes], version: int = 6, tail: int = 4096) -> bytes:
    """A journal: every record is padded to 512, as a flush does from version 5 on; then zeros made ahead."""
    if version == 1:
        return b"".join(records)
    head = struct.pack(">4si", b"BKLG", version)
    out = head.ljust(512, b"\0") if version >= 5 else head
    for one in records:
        out += one
        if version >= 5:
            left = -len(out) % 512
            left += 512 if left < 8 else 0
            out += struct.pack(">ii", -0x100, left - 8) + b"\xab" * (left - 8)
    return out + bytes(tail)


def control(ledger: int, kind: int, body: bytes = b"") -> bytes:
    return sized(struct.pack(">qq", ledger, kind) + body)


def put_log(bookie: Path, data: bytes, name: str = "0.log") -> Path:
    """Write a file into the `current` of a bookie's folder."""
    current = bookie / "current"
    current.mkdir(parents=True, exist_ok=True)
    (current / name).write_bytes(data)
    return current / name


def ledger_index(locations: Iterable[int], *, fenced: bool = False, key: bytes = b"secret") -> bytes:
    """The index file of a ledger: the location of each entry, 0 for one that is not there."""
    head = struct.pack(">4sii", b"BKLE", 1, len(key)) + key + struct.pack(">ii", int(fenced), 0)
    return head.ljust(1024, b"\0") + b"".join(struct.pack(">q", one) for one in locations)
